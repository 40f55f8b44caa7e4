addTexts({
    landscape_short: ['Loss landscape', '損失地形'],
    landscape_title: ['The loss around the weights', '重みのまわりの損失'],
    landscape_intro: [
        'The loss is a function of all weights, here 10,912 for 16 blocks, so only a slice of it can be drawn. Two random ' +
            'directions span a plane through the trained weights; each row of a weight matrix in a direction gets the ' +
            'norm of that row of the weights (Li et al. 2018). Both maps have one scale of colors. Above them stands ' +
            'what a slice cannot show: the largest eigenvalue of the <em>Hessian</em>, the matrix of second ' +
            'derivatives. It is the curvature along the direction that bends most.',
        '損失は、すべての重みの関数です。ここでは16ブロックで10,912個なので、図にできるのは断面だけです。二つのランダム' +
            'な方向が、学習した重みを通る平面を作ります。方向の中の行列の各行は、重みの同じ行のノルムに合わせます' +
            '（Li et al. 2018）。二つの図の色の目盛りは同じです。図の上に、断面には見えないものを示します。2階微分の' +
            '行列である<em>ヘッセ行列</em>の最大の固有値です。最も強く曲がる方向の曲率です。',
    ],
    landscape_seed: ['Seed of the directions', '方向のシード'],
    landscape_run: ['Train both and draw', '学習して図にする'],
    landscape_progress: ['Progress', '進み具合'],
    landscape_ready: [
        'Ready: two networks of {depth} blocks. They learn to return their input, 200 steps.',
        '準備完了：{depth}ブロックのネットワークが二つ。入力をそのまま返すことを200ステップ学びます。',
    ],
    landscape_running: ['They learn, and then the maps are computed.', '学習し、それから図を計算します。'],
    landscape_done: ['Done. The middle of each map is the trained network.', '完了。各図の中央が、学習したネットワークです。'],
    landscape_numbers: [
        '{name}: loss {loss}. Largest eigenvalue {largest}; largest curvature in the plane {slice}: it misses {missed} %.',
        '{name}：損失{loss}。最大の固有値{largest}、平面の中の最大の曲率{slice}。{missed} % が見えません。',
    ],
    landscape_cell: ['{a}, {b}: loss {loss}', '{a}、{b}：損失{loss}'],
    landscape_ask: [
        '<b>The map of f(x) with 16 blocks is flat. Is that a good minimum?</b> Predict, and compare the losses. Then choose ' +
            '4 blocks, then 16 blocks with <i>he</i>.',
        '<b>16ブロックのf(x)の図は平らです。よい最小点でしょうか。</b> 予想して、損失を比べてください。次に4ブロックを、' +
            '次に16ブロックと <i>he</i> を選んでください。',
    ],
    landscape_answer: [
        'No. f(x) of 16 blocks has learned nothing: nearly nothing passes through the blocks, so the loss is about 0.95 ' +
            'everywhere in the plane, that of always answering 0. x + f(x) has learned, and its map is a bowl. With 4 ' +
            'blocks f(x) learns too, and has a bowl with the larger eigenvalue, 80 against 2.9. With <i>he</i> both are ' +
            'steep, and x + f(x) more so: 1,300 against 29,000. So the shape depends on depth and initial weights, not on ' +
            'the skip connection alone. And no map shows the eigenvalue: each plane here misses more than 99 % of it, ' +
            'whatever the seed of the directions. A random direction sees a mean of all eigenvalues, most of which are ' +
            'small. To measure, compute the largest: multiply a vector by the Hessian again and again (PyHessian, Yao et ' +
            'al. 2020).',
        'いいえ。16ブロックのf(x)は何も学んでいません。ブロックをほとんど何も通らないので、平面のどこでも損失は約0.95で、' +
            '常に0と答えるのと同じです。x + f(x) は学び、図はお椀の形です。4ブロックならf(x)も学び、お椀になります。固有値は' +
            'f(x)のほうが大きく、80と2.9です。<i>he</i> ではどちらも急で、x + f(x) のほうが急です（1,300と29,000）。つまり' +
            '形は、スキップ接続だけでなく、深さと重みの初期値によります。そして、どの図にも固有値は見えません。方向のシード' +
            'がどれでも、ここの平面は99 % より多くを見落とします。ランダムな方向に見えるのはすべての固有値の平均で、そのほ' +
            'とんどは小さいからです。測るには、ベクトルにヘッセ行列を何度も掛けて、最大の固有値を求めます（PyHessian、' +
            'Yao et al. 2020）。',
    ],
});
