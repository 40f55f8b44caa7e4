addTexts({
    masks_short: ['Masks', 'マスク'],
    masks_title: ['What a position must not see', '見えてはいけないもの'],
    masks_intro: [
        'In training, a decoder gets the whole sentence at once, and each position predicts the next word. So position i ' +
            'must see only the positions up to i: this is the causal mask. Short sentences of a batch are filled with ' +
            'padding (∅), which a second mask hides from all. A hidden score becomes −∞ before the softmax.',
        '学習のとき、デコーダは文の全体を一度に受け取り、各位置で次の単語を予測します。だから位置iには、iまでの位置しか' +
            '見えてはいけません。これが因果マスクです。バッチの中の短い文はパディング（∅）で埋め、もうひとつのマスクで、' +
            'すべての位置から隠します。隠すスコアは、ソフトマックスの前に −∞ にします。',
    ],
    masks_causal: ['causal mask', '因果マスク'],
    masks_padding: ['padding mask', 'パディングマスク'],
    masks_padded: ['Padding at the end', '末尾のパディング'],
    masks_how: ['Hidden by', '隠し方'],
    masks_before: ['−∞ before the softmax', 'ソフトマックスの前に −∞'],
    masks_after: ['0 after the softmax', 'ソフトマックスの後に 0'],
    masks_words: ['tonight the hungry bear eats honey', '今朝 森の 熊は 甘い 蜂蜜を 食べる'],
    masks_scores: ['Scores (✕: hidden)', 'スコア（✕：隠す）'],
    masks_weights: ['Weights', '重み'],
    masks_gradient: ['Gradient at the scores', 'スコアについての勾配'],
    masks_keys: ['Gradient at each word’s key and value (norm)', '各単語のキーとバリューについての勾配（ノルム）'],
    masks_cell: ['{what}: query {query}, key {key}: {value}.', '{what}：クエリ {query}、キー {key}：{value}。'],
    masks_hidden: ['Hidden.', '隠れています。'],
    masks_line: ['Rows are queries, columns are keys: {words}.', '行はクエリ、列はキー：{words}。'],
    masks_sums: ['The rows of weights have sums from {least} to {most}.', '重みの各行の和：{least}から{most}。'],
    masks_sum: ['Each row of weights has the sum {least}.', '重みの各行の和：どれも{least}。'],
    masks_zeros: ['No gradient at all for: {words}.', '勾配がまったく届かない単語：{words}。'],
    masks_no_zeros: ['Each key and value gets a gradient.', 'どのキーとバリューにも、勾配が届きます。'],
    masks_ask: [
        '<b>What gradient reaches a key that no position can see? And if weights are set to 0 after the softmax?</b> ' +
            'Predict, then switch the masks.',
        '<b>どの位置からも見えないキーに届く勾配は、いくつでしょう。ソフトマックスの後で重みを0にすると、どうなるでしょう。' +
            '</b> 予想してから、マスクを切り替えてください。',
    ],
    masks_answer: [
        'Exactly 0: a hidden score has the weight 0, so nothing of its key and value reaches the result, and nothing ' +
            'comes back. Set to 0 after the softmax, the weights look hidden, but the rows no longer add up to 1, and ' +
            'hidden scores get a gradient: they have taken part in the sum of the softmax. Information leaks.',
        'ちょうど0です。隠したスコアの重みは0なので、そのキーとバリューは結果にまったく届かず、勾配も戻ってきません。ソフト' +
            'マックスの後で0にすると、隠れたように見えますが、行の和は1でなくなり、隠したスコアにも勾配が届きます。ソフト' +
            'マックスの和に加わっていたからです。情報が漏れています。',
    ],
});
