addTexts({
    next_short: ['The next word', '次の単語'],
    next_title: ['The next word, and how it is chosen', '次の単語の確率と選び方'],
    next_intro: [
        'A language model gives each token of section {#tokens} a probability to come next. This one has a layer with two ' +
            'heads, begins with random weights, and learns here from 500 small sentences about animals, in some seconds. ' +
            'Then it goes on with your sentence. Temperature, top k and top p decide how a token is drawn: a bar is the ' +
            'probability to be drawn, the dashed frame is what the model says.',
        '言語モデルは、第{#tokens}節のトークンのそれぞれに、次に来る確率を与えます。このモデルは1層、ヘッド二つで、乱数の' +
            '重みから始め、動物についての短い文500個を、ここで数秒で学びます。そのあと、入力した文の続きを書きます。温度、' +
            'top k、top pが、トークンの選び方を決めます。棒は選ばれる確率、破線の枠はモデルが与えた確率です。',
    ],
    next_sentence: ['Your sentence begins', '文の初め'],
    next_example: ['In the morning the bear eats', '朝、熊は'],
    next_temperature: ['Temperature', '温度'],
    next_k: ['Top k', 'top k'],
    next_p: ['Top p', 'top p'],
    next_all: ['all', 'すべて'],
    next_bars: ['The ten most probable tokens, drawn with', '最も確率の高い10個のトークンが選ばれる確率'],
    next_untrained: ['Not trained yet: nearly all tokens are equal.', '未学習。どのトークンも、ほとんど同じです。'],
    next_state: [
        '<b class="value">{kept}</b> of the {vocab} tokens can be drawn.',
        '{vocab}トークンのうち<b class="value">{kept}</b>個が選ばれる可能性があります。',
    ],
    next_draw: ['Draw a token', 'ひとつ選ぶ'],
    next_line: ['To the end of the sentence', '文の終わりまで'],
    next_forget: ['Only my sentence', '入力した文だけ'],
    next_list: ['The sentence, and the tokens that were drawn', '文と、選ばれたトークン'],
    next_again: ['Training again …', '学習し直しています…'],
    next_ask: [
        '<b>What do temperature 0, top k 1 and a very small top p have in common? And what does temperature 3 do?</b> ' +
            'Predict, then train and move them.',
        '<b>温度0、top k 1、とても小さいtop pに共通することは何でしょう。温度3では、どうなるでしょう。</b> 予想してから、' +
            '学習し、動かしてください。',
    ],
    next_answer: [
        'All three always take the most probable token (greedy), so the seed does not matter. A high temperature makes ' +
            'the bars equal: tokens that make no sense are drawn. Top k keeps the k best ones, top p the fewest that have ' +
            'the probability p together, so it keeps more where the model is uncertain. Write another animal: the ' +
            'bars of its food change, because attention looks back at it.',
        '三つとも、いつも最も確率の高いトークンを選びます（貪欲法）。結果は乱数のシードに左右されません。温度が高いと棒の高さが' +
            'そろい、意味の通らないトークンも選ばれます。top kは上位k個を残します。top pは、合計がpに達する最少の個数を残' +
            'すので、モデルに確信がないところほど多く残ります。別の動物を書くと、食べ物の棒が変わります。アテンションが' +
            '動物を振り返って見るからです。',
    ],
});
