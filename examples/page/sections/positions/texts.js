addTexts({
    positions_short: ['Positions', '位置'],
    positions_title: ['A position as waves', '位置を波で表す'],
    positions_intro: [
        'Attention does not see the order of the words. So each word gets a vector for its position: sines and cosines, ' +
            'fast ones in the first dimensions, slow ones in the last. <span class="nb">PE(i, 2d) = sin(i / ' +
            '10000<sup>2d/D</sup>)</span>, and the cosine beside it. Each row of the figure is a position.',
        'アテンションには単語の順序が見えません。そこで各単語に、位置のベクトルを足します。正弦と余弦で、初めの次元ほど' +
            '速く、後の次元ほど遅い波です。<span class="nb">PE(i, 2d) = sin(i / 10000<sup>2d/D</sup>)</span> と、隣の余' +
            '弦です。図の各行がひとつの位置です。',
    ],
    positions_at: ['Position i', '位置i'],
    positions_width: ['D: numbers of a vector', 'D：ベクトルの次元数'],
    positions_table: ['Rows: positions 0 to 39. Columns: dimensions.', '行：位置0から39。列：次元。'],
    positions_table_text: ['{n} positions as vectors of {width} numbers.', '{n}個の位置を表す{width}次元のベクトル。'],
    positions_row: ['The vector of position i', '位置iのベクトル'],
    positions_products: ['Its inner product with each position', '各位置との内積'],
    positions_dimension: ['dimension', '次元'],
    positions_other: ['position', '位置'],
    positions_cell: ['position {position}, dimension {dimension}: {value}', '位置{position}、次元{dimension}：{value}'],
    positions_state: [
        'Position {i}: with itself <b class="value">{product}</b>, with a neighbor <b class="value">{next}</b>, ten ' +
            'places away <b class="value">{far}</b>.',
        '位置{i}：自分自身と<b class="value">{product}</b>、隣と<b class="value">{next}</b>、10離れた位置と' +
            '<b class="value">{far}</b>。',
    ],
    positions_ask: [
        '<b>What happens to the curve of inner products when i moves?</b> Predict, then move it.',
        '<b>iを動かすと、内積の曲線はどうなるでしょう。</b> 予想してから動かしてください。',
    ],
    positions_answer: [
        'It moves along and keeps its form: the product of two positions depends only on their distance, as a sum of ' +
            'cosines, one for each frequency. Its largest value, D/2, is at distance 0. PE(i + k) is PE(i), rotated by ' +
            'angles that depend on k, not on i. So attention can learn “two words before” once for all positions.',
        '形を保ったまま横に動きます。内積は位置の差だけで決まり、周波数ごとの余弦の和です。最大値D/2になるのは距' +
            '離0のときです。PE(i + k)はPE(i)を回転したもので、角度はkで決まり、iに依存しません。だからアテンションは、「二つ' +
            '前の単語」を見ることを一度学べば、どの位置でも使えます。',
    ],
});
