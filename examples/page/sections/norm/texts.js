addTexts({
    norm_short: ['Layer norm', 'レイヤー正規化'],
    norm_title: ['Layer norm: what a row may forget', 'レイヤー正規化：消えるのは平均と大きさ'],
    norm_intro: [
        'Layer norm takes the mean of a row away and divides by the standard deviation: <span class="nb">y = (x − mean) ' +
            '/ deviation</span>. So each row has the mean 0 and the deviation 1, however large its numbers were. RMS ' +
            'norm leaves the mean and divides by the root of the mean square. Move the numbers and watch y and the ' +
            'gradient.',
        'レイヤー正規化は、行から平均を引き、標準偏差で割ります。<span class="nb">y = (x − 平均) / 標準偏差</span>。だ' +
            'からもとの数がどれほど大きくても、各行の平均は0、標準偏差は1になります。RMSNormは平均を引かず、二乗の平均' +
            'の平方根で割ります。数を動かして、yと勾配を見てください。',
    ],
    norm_x: ['The row x', '行x'],
    norm_y: ['y = norm(x)', 'y = norm(x)'],
    norm_y_text: ['The six results y', '6個の結果y'],
    norm_add: ['Add 1 to all', 'すべてに1を足す'],
    norm_double: ['Double all', 'すべてを2倍する'],
    norm_again: ['As at first', '元に戻す'],
    norm_kind: ['Which norm', '正規化の種類'],
    norm_output: ['The gradient of', '勾配を求める出力'],
    norm_mean: ['mean {mean}, deviation {deviation}', '平均{mean}、標準偏差{deviation}'],
    norm_rms: ['root of the mean square {root}', '二乗の平均の平方根{root}'],
    norm_dx: ['dx: how much {y} grows with each x', 'dx：各xが増えたとき{y}がどれだけ増えるか'],
    norm_sums: [
        'dx sums to <b class="gradient">{sum}</b>; the sum of x · dx is <b class="gradient">{product}</b>.',
        'dxの和は<b class="gradient">{sum}</b>、x · dxの和は<b class="gradient">{product}</b>。',
    ],
    norm_ask: [
        '<b>Which changes of x does y not notice?</b> Predict what happens to y and to dx when you add 1 to all ' +
            'numbers, and when you double all of them.',
        '<b>yに影響しないxの変化はどれでしょう。</b> すべてに1を足したとき、すべてを2倍したとき、yとdxがどうなるかを予' +
            '想してください。',
    ],
    norm_answer: [
        'Neither changes y. Adding the same number to all has no effect, so dx sums to 0; stretching has none, so the ' +
            'sum of x · dx is 0 too. But doubling x halves dx: large rows get small gradients. RMS norm notices the ' +
            'first change, not the second. Where the row enters by a skip connection, its size can grow from block to ' +
            'block without disturbing the next one.',
        'どちらもyを変えません。すべてに同じ数を足しても効かないので、dxの和は0です。伸縮も効かないので、x · dxの和も0' +
            'です。ただし、xを2倍するとdxは半分になります。大きな行の受け取る勾配は小さくなります。RMSNormの結果は、前' +
            '者では変わり、後者では変わりません。スキップ接続で行がブロックごとに大きくなっても、次のブロックは乱されま' +
            'せん。',
    ],
});
