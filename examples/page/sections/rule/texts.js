addTexts({
    rule_short: ['Write a backward', '逆伝播を書く'],
    rule_exercise: ['Exercise', '問題'],
    rule_forward: ['Forward', '順伝播'],
    rule_backward: ['Backward: one line for each input', '逆伝播：入力ごとに1行'],
    rule_check: ['Check the rule', '確かめる'],
    rule_answer: ['Show a solution', '解答を見る'],
    rule_one: ['Expected one line “y = …”.', '「y = …」の1行だけを書いてください。'],
    rule_needs: ['A line “{name} = …” is missing.', '「{name} = …」の行がありません。'],
    rule_title: ['Write a backward yourself', '逆伝播を自分で書く'],
    rule_intro: [
        'An operation needs two formulas: how it computes y, and how it hands the gradient on. Write the second one. ' +
            '<code>dy</code> is the gradient that arrives; you may use <code>x</code>, <code>z</code> and ' +
            '<code>y</code>. Two gradient checks grade it: both compare it with the numerical gradient, for which each ' +
            'input is moved a little. One is the library’s own, with floats; the other has double precision and finds ' +
            'an error of a millionth.',
        '演算には二つの式が要ります。yの計算のしかたと、勾配の渡し方です。二つ目を書いてみましょう。届く勾配は <code>' +
            'dy</code> です。<code>x</code>、<code>z</code>、<code>y</code> を使えます。採点は二通りの勾配確認で、どち' +
            'らも、入力を少しだけ動かして求めた数値微分と比べます。一方はライブラリ自身のもので、floatで計算します。もう' +
            '一方は倍精度で、100万分の1の誤差も見つけます。',
    ],
    rule_grammar: [
        'Plain arithmetic: + − * / ^ and the functions of section {#gradient}. Two factors side by side are a product. ' +
            'Ctrl+Enter checks.',
        'ふつうの計算式です。+ − * / ^ と第{#gradient}節の関数を使えます。並べて書いた因数は積になります。Ctrl+Enterで確' +
            'かめます。',
    ],
    rule_right: [
        '✓ Right: it agrees with the numerical gradient at {n} points in double precision, and ag_gradcheck, with ' +
            'floats, agrees at six of them.',
        '✓ 正解：倍精度では{n}か所で数値微分と一致し、floatで計算するag_gradcheckでも、そのうち6か所で一致しました。',
    ],
    rule_steep: [
        '✓ Right in double precision. ag_gradcheck, with floats, does not agree: the function is too steep or too large ' +
            'here for them.',
        '✓ 倍精度では正解です。floatで計算するag_gradcheckとは一致しません。関数がここではfloatには急すぎるか、値が大き' +
            'すぎます。',
    ],
    rule_wrong: ['✗ Not yet.', '✗ まだ違います。'],
    rule_extra: [
        'There is no input for the line “{name}”: the forward formula does not use it. A line begins with the name of a ' +
            'gradient, as in “dx = ”.',
        '「{name}」の行に当たる入力がありません。順伝播の式がそれを使っていません。行は「dx = 」のように、勾配の名前で始めます。',
    ],
    rule_domain: [
        'The forward formula has a finite value and a slope at too few numbers between −100 and 100, so there is ' +
            'nothing to compare with.',
        '順伝播の式が有限の値と傾きを持つ場所が、−100から100までに少なすぎるため、比べることができません。',
    ],
    rule_yours: ['your {name}', '書いた{name}'],
    rule_measured: ['numerical', '数値微分'],
    rule_ratio: ['ratio', '比'],
    hint_not_finite: ['yours is not a finite number at {at}.', '{at}で、書いた式は有限の数になりません。'],
    and_then: [', ', '、'],
    hint_exchanged: [
        'this is the gradient of the other input. Exchange {a} and {b}.',
        'これはもう一方の入力の勾配です。{a}と{b}を入れ替えてください。',
    ],
    hint_zero: ['it is 0 everywhere: nothing arrives.', 'どこでも0です。何も届きません。'],
    hint_sign: ['the sign is wrong.', '符号が逆です。'],
    hint_factor: ['each is {factor} times the correct value.', 'どれも正解の{factor}倍です。'],
    hint_missing: ['a factor {v} is missing.', '因数{v}が足りません。'],
    hint_too_much: ['there is a factor {v} too many.', '因数{v}が余分です。'],
    hint_term: ['a term {term} is too much.', '{term}の項が余分です。'],
    hint_dy: [
        'the gradient must be proportional to dy: each term has the factor dy exactly once.',
        '勾配はdyに比例しなければなりません。どの項にも、因数dyがちょうど一つあります。',
    ],
    repair_sign: ['look at the sign of {part}.', '{part}の符号を見直してください。'],
    repair_product: ['{part}: a product belongs there, not a sum.', '{part}：和ではなく積にします。'],
    repair_not_power: ['{part}: a product belongs there, not a power.', '{part}：べき乗ではなく積にします。'],
    repair_other: [
        'this is the rule of {f}, whose result would be y. Here y is the result of another formula.',
        'これはyが{f}の結果であるときの規則です。ここでは、yは別の式の結果です。',
    ],
    repair_extra: ['{part} does not belong there.', '{part}は余分です。'],
    repair_divide: ['you multiply by {part}: divide by it.', '{part}を掛けています。割ってください。'],
    repair_multiply: ['you divide by {part}: multiply by it.', '{part}で割っています。掛けてください。'],
    repair_name: ['{part} stands where something else belongs.', '{part}の場所には、別のものが入ります。'],
    repair_power: ['the power of {part} is wrong.', '{part}のべき指数が違います。'],
    repair_square: ['{part} must be squared.', '{part}を二乗にします。'],
    repair_exponent: ['the exponent in {part} applies to the wrong part.', '{part}のべき指数が、違う部分についています。'],
    repair_number: ['the number {part} is wrong.', '{part}という数が違います。'],
    repair_derivative: ['{part} stands there itself: take its derivative.', '{part}がそのまま残っています。微分してください。'],
    repair_function: ['the function {part} does not belong there.', '関数{part}は余分です。'],
    repair_factor: ['the factor {v} is missing in {part}.', '{part}に因数{v}が足りません。'],
    repair_one: ['there is {part} alone where 1 − {part} or 1 + {part} belongs.',
        '{part}だけが書かれています。1 − {part}か1 + {part}にします。'],
    repair_uses: [
        '{v} stands in {n} places of the forward formula, and this is the gradient through a part of them: add all.',
        '順伝播の式には{v}が{n}か所あります。これはその一部を通る勾配です。すべて足してください。',
    ],
    repair_times: ['it is {product} times the correct value.', '正解の{product}倍です。'],
    repair_negative: ['it is right where {v} is positive, not where it is negative.', '{v}が正のところでは正しく、負のところで' +
        '違います。'],
    repair_positive: ['it is right where {v} is negative, not where it is positive.', '{v}が負のところでは正しく、正のところで' +
        '違います。'],
    rule_ask: [
        '<b>What does the rule of tanh need?</b> Choose its exercise. The rule there uses x and is wrong. What must ' +
            'stand in its place?',
        '<b>tanhの規則には何が必要でしょう。</b> tanhの問題を選んでください。初めの規則はxを使っていて、誤りです。代わり' +
            'に何を置けばよいでしょうか。',
    ],
    rule_answer_text: [
        'y: the slope of tanh at x is 1 − tanh(x)², and tanh(x) is y. So the rule reads only y, and the library can ' +
            'forget x. What a rule reads decides what must be kept in memory until the backward pass.',
        'yです。xでのtanhの傾きは 1 − tanh(x)² で、tanh(x)はyです。規則が読むのはyだけなので、ライブラリはxを忘れてもか' +
            'まいません。規則が何を読むかで、逆伝播までメモリに残すものが決まります。',
    ],
});
