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
});
