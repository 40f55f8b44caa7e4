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
    transformer_answer: [
        'A diagonal from the upper right to the lower left: the digit that is written at place 1 is read at place 6, ' +
            'and so on. Go back to step 0 in the history, choose “cross-attention” in section {#backward}, and see ' +
            'which gradient taught it.',
        '右上から左下への対角線になります。1番目に書く数字は6番目から読む、というようにです。履歴のステップ0に戻り、第' +
            '{#backward}節で「クロスアテンション」を選ぶと、どの勾配がそれを教えたかが見えます。',
    ],
});
