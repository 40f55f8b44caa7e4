addTexts({
    heads_short: ['Several heads', '複数のヘッド'],
    heads_title: ['Several heads look at several places', '複数のヘッドは、複数の場所を見る'],
    heads_intro: [
        'One head of attention is one softmax: at each position it has one set of weights. Here attention must find two ' +
            'things at each position of a word: the letter before it, and the first letter of the word. Several heads ' +
            'share the same 32 numbers, so more heads cost nothing. Train with one head, then with two.',
        'アテンションのヘッドひとつは、ソフトマックスひとつです。どの位置でも、重みは一組しかありません。ここでは、単語の' +
            '各位置で二つのものを見つけなければなりません。ひとつ前の文字と、単語の最初の文字です。ヘッドが複数あれば、' +
            '同じ32個の数を分け合うので、増やしても計算量は変わりません。ヘッド一つで学習し、次に二つで学習してください。',
    ],
    heads_number: ['Heads', 'ヘッドの数'],
    heads_word: ['A word of letters a to j', 'aからjまでの文字の単語'],
    heads_given: ['the word', '単語'],
    heads_before: ['before', 'ひとつ前'],
    heads_first: ['first', '最初'],
    heads_untrained: ['Not trained yet.', '未学習。'],
    heads_right: [
        'Right places in 64 other words: {percent} % (heads: {n}).',
        'ほかの64個の単語での正解率：{percent}%（ヘッド{n}個）。',
    ],
    heads_loss: ['loss, by number of heads', 'ヘッドの数ごとの損失'],
    heads_map: ['Head {n}', 'ヘッド{n}'],
    heads_ask: [
        '<b>Can one head look at two places, and keep apart what it finds there?</b> Predict the maps and the share of ' +
            'right answers with 1 and 2 heads, then train.',
        '<b>ひとつのヘッドは、二つの場所を見て、見つけたものを区別できるでしょうか。</b> ヘッドが一つの場合と二つの場合の' +
            '図と正解率を予想してから、学習してください。',
    ],
    heads_answer: [
        'One head must divide its weights between the two places, and it gets the sum of two vectors, in which it is ' +
            'partly lost what came from where. With two heads, one looks at the letter before (left of the diagonal) and ' +
            'one at the first letter (the column on the left). Nobody told them: it comes from training.',
        'ヘッドがひとつなら、重みを二つの場所に分けることになります。得られるのは二つのベクトルの和で、何がどちらから来た' +
            'のかは、一部しか分かりません。二つなら、一方は前の文字（対角線のすぐ左）を、もう一方は最初の文字（左端の列）' +
            'を見ます。誰かが割り当てたのではなく、学習から生まれます。',
    ],
});
