addTexts({
    spiral_short: ['Train a network', '学習させる'],
    spiral_width: ['Hidden numbers', '隠れユニットの数'],
    spiral_untrained: ['Not trained yet: the weights are random.', '未学習：重みは乱数です。'],
    spiral_title: ['A network learns a spiral', 'ネットワークが渦巻きを学ぶ'],
    spiral_intro: [
        'Points lie on two arms, and a network of two layers learns on which. A step computes the gradient of every ' +
            'weight as in section {#gradient}, and moves each weight a little against it. At first this is ' +
            '<code>examples/spiral.c</code>, which the README shows as a whole. Train slowly, pause, and go back and ' +
            'forth in the history.',
        '点は二本の腕の上にあり、2層のネットワークが、どちらの腕かを学びます。1ステップでは、第{#gradient}節と同じやり方' +
            'ですべての重みの勾配を求め、それぞれの重みを逆向きに少しだけ動かします。初めの設定は、READMEに全文のある ' +
            '<code>examples/spiral.c</code> そのものです。ゆっくり学習させ、止めて、履歴を行き来してみてください。',
    ],
    spiral_data: ['Data', 'データ'],
    data_spiral: ['spiral', '渦巻き'],
    data_rings: ['disk and ring', '円と輪'],
    data_xor: ['chessboard', '市松模様'],
    data_clouds: ['two clouds', '二つの雲'],
    spiral_steps: ['Steps', 'ステップ数'],
    spiral_map: [
        'Points of the two classes, and in color which class the network expects at each place, after {step} steps.',
        '二つのクラスの点。色は、ネットワークがその場所でどちらのクラスと予想するか。{step}ステップ後。',
    ],
    spiral_ask: [
        '<b>How few hidden numbers are enough?</b> Predict, then try 2, 4 and 8. And what does a learning rate of 2 do?',
        '<b>隠れユニットの数はいくつまで減らせるでしょう。</b> 予想してから、2、4、8を試してください。学習率を2にすると' +
            '何が起こるでしょうか。',
    ],
    spiral_answer: [
        'Each hidden number is one soft edge in the plane. 2 edges cannot follow the arms, and 4 follow only parts of ' +
            'them; from about 8 the arms are told apart, and 64 learn it fastest. For the two clouds, one edge is ' +
            'enough. With a learning rate of 2 each step jumps over what it looks for: the loss does not fall.',
        '隠れユニットのひとつひとつが、平面の上のなだらかな境目になります。二つの境目では腕をたどれず、四つでも一部だけ' +
            'です。8個ほどあれば腕を見分けられ、64個なら最も速く学びます。二つの雲なら、境目はひとつで足ります。学習率が' +
            '2だと、更新のたびに目当ての場所を跳び越え、損失が下がりません。',
    ],
});
