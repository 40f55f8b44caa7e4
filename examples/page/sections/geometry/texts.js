addTexts({
    geometry_short: ['Attention as geometry', '図形で見るアテンション'],
    geometry_title: ['Attention moves words', 'アテンションは単語を動かす'],
    geometry_intro: [
        'Four words are points in the plane. Each word x has a query q = W_Q x, what it looks for, a key k = W_K x, ' +
            'what it is found by, and a value v = W_V x, what it passes on. They are the rows of Q, K and V. Softmax ' +
            'makes weights of the scores q · k / √dₖ, here with dₖ = 2 numbers in a key, and each word becomes the ' +
            'weighted mean of the values. Here V is the words themselves. So no word leaves the smallest convex ' +
            'shape around all four, and a convex polygon shrinks. Drag a word, or go to it with Tab and move it with ' +
            'the arrow keys.',
        '四つの単語を平面の点とします。各単語xには、何を探すかを表すクエリ q = W_Q x、何を手がかりに見つけてもらうか' +
            'を表すキー k = W_K x、何を渡すかを表すバリュー v = W_V x があります。これを行として並べたものがQ、K、Vで' +
            'す。スコア q · k / √dₖ（ここではキーの次元数 dₖ = 2）をソフトマックスで重みにし、各単語を、バリューの重' +
            'みつき平均で置き換えます。ここでは、Vは単語そのものです。だからどの単語も、四つを囲む最小の凸図形（凸包' +
            '）の外には出られず、凸多角形は縮みます。単語をドラッグするか、Tabで選んで矢印キーで動かしてください。',
    ],
    geometry_temperature: ['Temperature', '温度'],
    geometry_layers: ['Layers of attention', 'アテンションの層の数'],
    geometry_again: ['As at first', '元に戻す'],
    geometry_plane: [
        'Four words in the plane, the dashed polygon of the words, and the polygons after attention',
        '平面上の四つの単語、その多角形（破線）、アテンションの後の多角形',
    ],
    geometry_words: ['this is a pen', 'これ は ペン です'],
    geometry_word: ['word “{word}”: arrow keys move it', '単語「{word}」：矢印キーで動かす'],
    geometry_area: [
        'The polygon keeps <b class="value">{kept} %</b> of its area.',
        '多角形の面積は<b class="value">{kept}%</b>になります。',
    ],
    geometry_area_layers: [
        'After {n} layers the polygon keeps <b class="value">{kept} %</b> of its area.',
        '{n}層の後、多角形の面積は<b class="value">{kept}%</b>になります。',
    ],
    geometry_weights: [
        'Weights: softmax of the scores of each query q (row) and each key k (column)',
        '重み：各クエリq（行）と各キーk（列）のスコアのソフトマックス',
    ],
    geometry_ask: [
        '<b>What does temperature do?</b> Predict: which weights does attention have when it is very hot, and when it ' +
            'is very cold? Can you place a word so that even cold attention moves it far?',
        '<b>温度は何をするのでしょう。</b> 非常に高いとき、非常に低いときの重みを予想してください。低い温度でも大きく動' +
            'く場所に、単語を置けますか。',
    ],
    geometry_answer: [
        'Hot: all weights become equal, and the words fall into one point, their mean. Cold: each word picks the one ' +
            'word that matches best, at the first places itself. A word near the middle matches a far word better than ' +
            'itself, because the product grows with the length of the key: place it there, and it jumps.',
        '高いと、重みはすべて等しくなり、単語は平均の一点に集まります。低いと、各単語は最もよく合う単語をひとつ選びます。' +
            '初めの位置では自分自身です。内積はキーの長さとともに大きくなるので、真ん中近くの単語は、自分よりも遠くの単' +
            '語によく合います。そこに置くと、大きく跳びます。',
    ],
});
