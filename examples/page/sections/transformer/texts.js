addTexts({
    transformer_short: ['A Transformer', 'Transformer'],
    transformer_title: ['A Transformer learns to sort', 'Transformerが並べ替えを学ぶ'],
    transformer_intro: [
        'The model of “Attention Is All You Need”, small, with the norms before each part, as later models have ' +
            'them: an encoder and a decoder of one layer each, 6,171 weights. It reads six digits and writes them ' +
            'sorted, or in reverse. Watch its three maps of attention while it learns. Each row of a map is a place ' +
            'that asks; the stronger the color of a cell, the more it takes from that digit.',
        '“Attention Is All You Need” のモデルを小さくし、その後のモデルにならって、正規化を各部品の前に置いたもので' +
            'す。エンコーダとデコーダが1層ずつ、重みは6,171個。6個の数字を読み、並べ替えて、または逆順に書きます。学' +
            '習中の三つのアテンションの図を見てください。図の各行は、尋ねる側の場所です。色の濃いマスほど、その数字か' +
            'ら多くを受け取ります。',
    ],
    transformer_task: ['Task', '課題'],
    task_sort: ['sort', '小さい順に並べる'],
    task_reverse: ['reverse', '逆順にする'],
    transformer_row: ['Six digits', '6個の数字'],
    transformer_untrained: ['Not trained yet: it guesses.', '未学習：当てずっぽうです。'],
    row_in: ['it reads', '読む'],
    row_out: ['it writes', '書く'],
    row_right: ['{right} of 6 right', '6個のうち{right}個が正解'],
    map_encoder: ['Encoder: what each digit takes from the others', 'エンコーダ：各数字がほかの数字から受け取るもの'],
    map_decoder: [
        'Decoder: the right digits so far, as in training (▸ is the start)',
        'デコーダ：それまでの正しい数字、学習時と同じ（▸ は開始記号）',
    ],
    map_source: [
        'Decoder to source: which digit is read for each digit that is written',
        'デコーダから入力へ：各数字を書くために、どの数字を読むか',
    ],
    map_text: [
        '{row} attends most to {column} at place {place}: {weight}.',
        '{row}が最も大きいアテンションを向けるのは{place}番目の{column}：{weight}。',
    ],
    back_title: ['Its backward pass, step by step', 'その逆伝播を一歩ずつ'],
    back_intro: [
        'Training needs the gradient of all 6,171 weights. It comes the same way as in section {#gradient}: from the ' +
            'loss back, one operation at a time, through the decoder and then the encoder. Vermilion is positive, blue ' +
            'is negative; each figure has its own scale. The weights are those of the step that the history shows.',
        '学習には6,171個すべての重みの勾配が要ります。求め方は第{#gradient}節と同じです。損失から、演算をひとつずつ、デ' +
            'コーダ、次にエンコーダへとさかのぼります。朱色は正、青は負で、濃さの目盛りは図ごとに違います。重みは、履歴' +
            'で選んだステップのものです。',
    ],
    back_where: ['Step {k} of {n}. {side}: {part}', '{k} / {n}。{side}：{part}'],
    flow_encoder: ['Encoder', 'エンコーダ'],
    flow_decoder: ['Decoder', 'デコーダ'],
    part_embed: ['embed', '埋め込み'],
    part_norm: ['norm', '正規化'],
    part_self: ['self-attention', 'セルフアテンション'],
    part_source: ['attention to source', '入力へのアテンション'],
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
        'a sum hands the same gradient to both sides. This is the way on which gradients survive many layers.',
        '和は、両側に同じ勾配を渡します。層が多くても勾配が消えないのは、この道があるからです。',
    ],
    op_relu: ['only where the value was above 0 does the gradient pass.', '値が0より大きかったところだけ、勾配が通ります。'],
    op_matmul: [
        'each factor gets the gradient times the other factor.',
        'それぞれの因数は、勾配ともう一方の因数の積を受け取ります。',
    ],
    op_masked_softmax: [
        'the weights of attention: a row sums to 1, so what one weight gains the others lose, and a row of the result ' +
            'sums to 0.',
        'アテンションの重みです。行の和は1なので、ひとつが増えればほかは減ります。結果の各行の和は0になります。',
    ],
    op_permute: [
        'only the order changes, so the gradient is put back in order.',
        '順序が変わるだけなので、勾配を元の順序に戻します。',
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
    transformer_ask: [
        '<b>Train it on <i>reverse</i>. What will the third map look like?</b> Nobody tells the model where to look. ' +
            'Predict, then train, and run through the history.',
        '<b>「逆順」を学習させると、三つ目の図はどうなるでしょう。</b> どこを見るべきかは、誰も教えません。予想してから' +
            '学習させ、履歴をたどってください。',
    ],
    map_cell: [
        '{row} (place {place}) takes {weight} from {column} (place {read})',
        '{place}番目の{row}が、{read}番目の{column}から受け取る割合：{weight}',
    ],
    tile_cell: ['row {row}, column {column}: {value}', '{row}行{column}列：{value}'],
    transformer_answer: [
        'A diagonal from the upper right to the lower left: the digit that is written at place 1 is read at place 6, ' +
            'and so on. Go back to step 0 in the history, choose “attention to source” in the backward pass, and see ' +
            'which gradient taught it.',
        '右上から左下への対角線になります。1番目に書く数字は6番目から読む、というようにです。履歴のステップ0に戻り、逆伝' +
            '播で「入力へのアテンション」を選ぶと、どの勾配がそれを教えたかが見えます。',
    ],
    back_ask: [
        '<b>Where does the first gradient of the encoder come from?</b> It has no loss of its own. Predict, then choose ' +
            '“attention to source” in the decoder and step until the first part of the encoder.',
        '<b>エンコーダの最初の勾配は、どこから来るのでしょう。</b> エンコーダ自身には損失がありません。予想してから、デ' +
            'コーダの「入力へのアテンション」を選び、エンコーダの最初の部分まで進んでください。',
    ],
    back_answer: [
        'From the decoder’s attention to the source, by two ways that add: by the values, which say what is taken, and ' +
            'by the keys, which say where the decoder looks. So the encoder learns to put into each digit’s row both ' +
            'what it is and how it is found.',
        'デコーダの「入力へのアテンション」から、二つの道を通って来て、足し合わされます。何を受け取るかを決める値（バリ' +
            'ュー）と、どこを見るかを決めるキーです。だからエンコーダは、各数字の行に、それが何であるかと、どう見つける' +
            'かの両方を入れることを学びます。',
    ],
});
