addTexts({
    softmax_short: ['√K and softmax', '√Kとソフトマックス'],
    softmax_title: ['√K and softmax', '√Kとソフトマックス'],
    softmax_intro: [
        'A query q meets eight keys k, each of K random numbers with variance 1. Their products q · k have the variance ' +
            'K, so they grow with √K. Softmax turns differences into ratios: large scores give one key nearly all of ' +
            'the weight, and then hardly any gradient passes. Attention divides by √K, and the scores keep the variance ' +
            '1.',
        'クエリqと八つのキーkがあり、どれも分散1の乱数K個です。内積 q · k の分散はKなので、大きさは√Kとともに増えます。' +
            'ソフトマックスは差を比に変えるので、大きなスコアではひとつのキーが重みのほとんどを取り、勾配はほとんど通ら' +
            'なくなります。アテンションは√Kで割り、スコアの分散を1に保ちます。',
    ],
    softmax_k: ['K: how many numbers q and k have', 'K：qとkの次元数'],
    softmax_scale: ['Scores', 'スコア'],
    softmax_scores: ['Scores of the eight keys', '八つのキーのスコア'],
    softmax_weights: ['Their softmax: the weights of attention', 'そのソフトマックス：アテンションの重み'],
    softmax_means: ['Means of 100 draws, for each K', '各Kでの、100回の平均'],
    softmax_largest: ['largest weight', '最大の重み'],
    softmax_gradient: ['norm of the gradient that passes', '通る勾配のノルム'],
    softmax_log_k: ['log₂ K', 'log₂ K'],
    softmax_curves: [
        'K = {k}, {name}: {plain} for q·k, {scaled} for q·k / √K.',
        'K = {k}、{name}：q·kでは{plain}、q·k / √K では{scaled}。',
    ],
    softmax_state: [
        'K = {k}: the largest of these eight weights is <b class="value">{largest}</b>.',
        'K = {k}：この八つの重みの最大は<b class="value">{largest}</b>。',
    ],
    softmax_ask: [
        '<b>What does a larger K do to the weights?</b> Predict, then move K without and with the division by √K.',
        '<b>Kが大きくなると、重みはどうなるでしょう。</b> 予想してから、√Kで割らない場合と割る場合の両方でKを動かしてく' +
            'ださい。',
    ],
    softmax_answer: [
        'Without the division one weight goes to 1 and the others to 0, and the gradient through softmax goes to 0: ' +
            'attention cannot learn to look elsewhere. Divided by √K, the curves are flat: neither the weights nor the ' +
            'gradient depend on K.',
        '割らなければ、ひとつの重みが1に、ほかは0に近づき、ソフトマックスを通る勾配は0に近づきます。アテンションは、ほか' +
            'を見ることを学べません。√Kで割ると曲線は平らで、重みも勾配もKによりません。',
    ],
});
