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
    data_rings: ['disk and ring', '円板と輪'],
    data_xor: ['chessboard', '市松模様'],
    data_clouds: ['two clouds', '二つの雲'],
    spiral_steps: ['Steps', 'ステップ数'],
    spiral_map: [
        'Points of the two classes, and in color which class the network expects at each place, after {step} steps.',
        '二つのクラスの点。色は、ネットワークがその場所でどちらのクラスと予想するか。{step}ステップ後。',
    ],
    spiral_ask: [
        '<b>How few hidden numbers are enough?</b> Predict, then try 2, 4 and 8. Then go back to 64: what does SGD ' +
            'reach with the same learning rate as Adam?',
        '<b>隠れユニットの数はいくつまで減らせるでしょう。</b> 予想してから、2、4、8を試してください。次に64に戻して、' +
            'Adamと同じ学習率のSGDがどこまで行くかを予想してください。',
    ],
    spiral_answer: [
        'Each hidden number is one soft edge in the plane. Two edges cannot follow the arms: the loss is still 0.40 ' +
            'after 5000 steps. Four can: with four of the seeds 0 to 4 the loss is below 0.1 after 501 steps, with ' +
            'all of them after 2000. Eight are below 0.05 after 501. For two clouds one edge is enough. SGD with the ' +
            'rate 0.02 still has a loss of 0.54 to 0.58 after 501 steps. The gradients are small, and Adam divides ' +
            'each one by its usual size; SGD does not, so it needs a rate about 100 times as large.',
        '隠れユニットのひとつひとつが、平面の上のなだらかな境目になります。境目が二つでは腕をたどれず、5000ステップ後' +
            'も損失は0.40です。四つならたどれます。シード0から4の五つのうち、四つのシードでは501ステップ後に、2000ス' +
            'テップ後には五つすべてで、損失が0.1を下回ります。八つなら501ステップで0.05を下回ります。二つの雲なら、境' +
            '目はひとつで足ります。学習率0.02のSGDでは、501ステップ後も、損失はまだ0.54から0.58です。勾配が小さいため' +
            'です。Adamは勾配をそのふだんの大きさで割りますが、SGDは割らないので、100倍ほどの学習率が必要です。',
    ],
});
