addTexts({
    bits_short: ['The same bits', '同じビット'],
    bits_title: ['The same bits as in C', 'Cと同じビット'],
    bits_intro: [
        'A float rounds at every operation, so most programs give other digits on another machine. kaeru fixes the ' +
            'order of every sum and has its own exp and tanh. So the weights that were trained in this page are, bit ' +
            'for bit, those of the native program. The hash is that of the weights’ file.',
        'floatは演算のたびに丸められるので、たいていのプログラムはマシンが変わると最後の桁が変わります。kaeruはすべての' +
            '和の順序を決め、expやtanhも自前で計算します。だからこのページで学習した重みは、ネイティブのプログラムのもの' +
            'と1ビットも違いません。ハッシュは重みのファイルのSHA-256です。',
    ],
    bits_run: ['Train all three and compare', '三つとも学習して比べる'],
    bits_spiral: ['Spiral, 501 steps', '渦巻き、501ステップ'],
    bits_sort: ['Transformer, sort', 'Transformer、並べ替え'],
    bits_reverse: ['Transformer, reverse', 'Transformer、逆順'],
    bits_native: ['native', 'ネイティブ'],
    bits_here: ['here', 'ここ'],
    bits_not_yet: ['not trained yet', '未学習'],
    bits_equal: ['✓ equal', '✓ 一致'],
    bits_differ: ['✗ different', '✗ 不一致'],
    bits_ask: [
        '<b>Two machines add the same floats. Why can the sums differ?</b> Try it by hand: what are (100000000 + 1) − ' +
            '100000000 and (100000000 − 100000000) + 1, if a float keeps about seven digits?',
        '<b>二台のマシンが同じfloatを足します。なぜ和が違いうるのでしょう。</b> 手で試してください。floatが約7桁を保つな' +
            'ら、(100000000 + 1) − 100000000 と (100000000 − 100000000) + 1 はいくつですか。',
    ],
    bits_answer: [
        '0 and 1: each operation rounds, so the order matters. Most libraries let the number of threads and the width ' +
            'of the vector instructions decide the order. kaeru fixes it, so four numbers at a time in this page, ' +
            'sixteen on a server, and one thread or sixty-four give the same bits.',
        '0と1です。演算のたびに丸めるので、順序が結果を左右します。たいていのライブラリでは、スレッドの数やベクトル命令' +
            'の幅が順序を決めます。kaeruは順序を固定しているので、このページの4個ずつの計算でも、サーバーの16個ずつの計' +
            '算でも、1スレッドでも64スレッドでも、同じビットになります。',
    ],
});
