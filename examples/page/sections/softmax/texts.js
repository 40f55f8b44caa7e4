addTexts({
    softmax_short: ['√dₖ and softmax', '√dₖとソフトマックス'],
    softmax_title: ['√dₖ and softmax', '√dₖとソフトマックス'],
    softmax_intro: [
        'A query q meets eight keys k, each of dₖ random numbers with variance 1. Their products q · k have the variance ' +
            'dₖ, so they grow with √dₖ. Softmax turns differences into ratios: large scores give one key nearly all of ' +
            'the weight, and then hardly any gradient passes. Attention divides by √dₖ, and the scores keep the variance ' +
            '1.',
        'クエリqと八つのキーkがあり、どれも分散1の乱数dₖ個です。内積 q · k の分散はdₖなので、大きさは√dₖとともに増えます。' +
            'ソフトマックスは差を比に変えるので、大きなスコアではひとつのキーが重みのほとんどを取り、勾配はほとんど通ら' +
            'なくなります。アテンションは√dₖで割り、スコアの分散を1に保ちます。',
    ],
    softmax_k: ['dₖ: how many numbers q and k have', 'dₖ：qとkの次元数'],
    softmax_scale: ['Scores', 'スコア'],
    softmax_scores: ['Scores of the eight keys', '八つのキーのスコア'],
    softmax_weights: ['Their softmax: the weights of attention', 'そのソフトマックス：アテンションの重み'],
    softmax_means: ['Means of 100 draws, for each dₖ', '各dₖでの、100回の平均'],
    softmax_largest: ['largest weight', '最大の重み'],
    softmax_gradient: ['norm of the gradient that passes', '通る勾配のノルム'],
    softmax_log_k: ['log₂ dₖ', 'log₂ dₖ'],
    softmax_wait: ['{name}: being computed.', '{name}：計算中です。'],
    softmax_curves: [
        'dₖ = {k}, {name}: {plain} for q·k, {scaled} for q·k / √dₖ.',
        'dₖ = {k}、{name}：q·kでは{plain}、q·k / √dₖ では{scaled}。',
    ],
    softmax_state: [
        'dₖ = {k}: the largest of these eight weights is <b class="value">{largest}</b>.',
        'dₖ = {k}：この八つの重みの最大は<b class="value">{largest}</b>。',
    ],
    softmax_ask: [
        '<b>What does a larger dₖ do to the weights?</b> Predict, then move dₖ without and with the division by √dₖ.',
        '<b>dₖが大きくなると、重みはどうなるでしょう。</b> 予想してから、√dₖで割らない場合と割る場合の両方でdₖを動かしてく' +
            'ださい。',
    ],
    softmax_answer: [
        'Without the division one weight goes to 1 and the others to 0, and the gradient through softmax goes to 0: ' +
            'attention cannot learn to look elsewhere. Divided by √dₖ, the curves are flat: neither the weights nor the ' +
            'gradient depend on dₖ.',
        '割らなければ、ひとつの重みが1に、ほかは0に近づき、ソフトマックスを通る勾配は0に近づきます。アテンションは、ほか' +
            'を見ることを学べません。√dₖで割ると曲線は平らで、重みも勾配もdₖに依存しません。',
    ],
});
