addTexts({
    backward_short: ['A Transformer, backward', 'Transformerの逆伝播'],
    backward_title: ['The backward pass of a Transformer', 'Transformerの逆伝播'],
    backward_intro: [
        'Training needs the gradient of all 6,171 weights. It comes the same way as in section {#gradient}: from the ' +
            'loss back, one operation at a time, through the decoder and then the encoder. Vermilion is positive, blue ' +
            'is negative; each figure has its own scale. The weights are those of the step that the history of ' +
            'section {#transformer} shows.',
        '学習には6,171個すべての重みの勾配が要ります。求め方は第{#gradient}節と同じです。損失から、演算をひとつずつ、デ' +
            'コーダ、次にエンコーダへとさかのぼります。朱色は正、青は負で、濃さの目盛りは図ごとに違います。重みは、第' +
            '{#transformer}節の履歴で選んだステップのものです。',
    ],
    backward_where: ['Step {k} of {n}. {side}: {part}', '{k} / {n}。{side}：{part}'],
    flow_encoder: ['Encoder', 'エンコーダ'],
    flow_decoder: ['Decoder', 'デコーダ'],
    part_embed: ['embed', '埋め込み'],
    part_norm: ['norm', '正規化'],
    part_self: ['self-attention', 'セルフアテンション'],
    part_source: ['cross-attention', 'クロスアテンション'],
    part_forward: ['feed-forward', 'フィードフォワード'],
    part_plus: ['+', '＋'],
    part_generator: ['generator', '出力層'],
    part_loss: ['loss', '損失'],
    op_nll_loss: [
        'the loss looks only at the right digit of each place, so only that entry gets a gradient.',
        '損失は各場所の正解の数字だけを見ます。だから勾配を受け取るのは、その成分だけです。',
    ],
    op_log_softmax: [
        'each row gets the probabilities minus 1 at the right digit, divided by 6: too much goes down, too little goes ' +
            'up.',
        '各行は、確率から正解の位置の1を引き、6で割ったものを受け取ります。大きすぎるものは下がり、小さすぎるものは上が' +
            'ります。',
    ],
    op_linear: [
        'the gradient goes three ways: back to x through the weights, to the weights, and to the bias.',
        '勾配は三つに分かれます。重みを通ってxへ、重みへ、バイアスへ。',
    ],
    op_layer_norm: [
        'a change that shifts or scales the whole row has no effect, so that part of the gradient is removed.',
        '行全体をずらしたり伸縮したりする変化は効きません。だから勾配のその部分は取り除かれます。',
    ],
    op_add: [
        'a sum hands the same gradient to both sides.',
        '和は、両側に同じ勾配を渡します。',
    ],
    op_add_skip: [
        'a sum hands the same gradient to both sides. This is a skip connection: on its way gradients survive many layers.',
        '和は、両側に同じ勾配を渡します。これはスキップ接続です。層が多くても勾配が消えないのは、この道があるからです。',
    ],
    op_relu: ['only where the value was above 0 does the gradient pass.', '値が0より大きかったところだけ、勾配が通ります。'],
    op_matmul: [
        'each factor gets the gradient times the other factor.',
        'それぞれの因数は、勾配ともう一方の因数の積を受け取ります。',
    ],
    op_masked_softmax: [
        'the weights of attention: a row sums to 1, so what one weight gains the others lose, and a row of the gradient ' +
            'that it gives sums to 0.',
        'アテンションの重みです。行の和は1なので、ひとつが増えればほかは減ります。渡す勾配の各行の和は0になります。',
    ],
    op_permute: [
        'only the order of the axes changes, so the gradient gets the old order back.',
        '軸の順序が変わるだけなので、勾配を元の順序に戻します。',
    ],
    op_reshape: ['only the shape changes.', '形が変わるだけです。'],
    op_scale: ['times a constant, so the gradient is multiplied by it, too.', '定数倍なので、勾配にも同じ数を掛けます。'],
    op_embedding: [
        'each digit’s row of the table gets the gradients of all places where the digit stands.',
        '表の中の各数字の行は、その数字が置かれた場所すべての勾配を受け取ります。',
    ],
    tile_arrives: ['dy arrives<br>{shape}, up to {most}', '届くdy<br>{shape}、最大{most}'],
    tile_reads: ['a value that the rule reads<br>{shape}, up to {most}', '規則が読む値<br>{shape}、最大{most}'],
    tile_result: ['y, which the rule reads<br>{shape}, up to {most}', '規則が読むy<br>{shape}、最大{most}'],
    tile_gives: ['it gives<br>{shape}, up to {most}', '渡す勾配<br>{shape}、最大{most}'],
    tile_weight: ['for {name}<br>{shape}, up to {most}', '{name}へ<br>{shape}、最大{most}'],
    tile_before: ['from another use<br>{shape}, up to {most}', '別の使用箇所から<br>{shape}、最大{most}'],
    tile_adds: ['+ this step adds<br>{shape}, up to {most}', '＋ このステップの分<br>{shape}、最大{most}'],
    tile_sum: ['= the sum<br>{shape}, up to {most}', '＝ 和<br>{shape}、最大{most}'],
    tile_cell: ['row {row}, column {column}: {value}', '{row}行{column}列：{value}'],
    backward_ask: [
        '<b>Where does the first gradient of the encoder come from?</b> It has no loss of its own. Predict, then choose ' +
            '“cross-attention” (attention to the source), and step from there to the encoder.',
        '<b>エンコーダの最初の勾配は、どこから来るのでしょう。</b> エンコーダ自身には損失がありません。予想してから「' +
            'クロスアテンション」（入力へのアテンション）を選び、エンコーダまで進んでください。',
    ],
    backward_answer: [
        'From the decoder’s cross-attention, by two ways that add: by the values, which say what is taken, and ' +
            'by the keys, which say where the decoder looks. So the encoder learns to put into each digit’s row both ' +
            'what it is and how it is found.',
        'デコーダのクロスアテンションから、二つの道を通って来て、足し合わされます。何を受け取るかを決める値（バリ' +
            'ュー）と、どこを見るかを決めるキーです。だからエンコーダは、各数字の行に、それが何であるかと、どう見つける' +
            'かの両方を入れることを学びます。',
    ],
});
