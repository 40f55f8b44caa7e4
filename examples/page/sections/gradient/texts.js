addTexts({
    gradient_short: ['One gradient', '勾配をひとつ'],
    gradient_intro: [
        'A gradient answers one question: if this number grows a little, how much does the result grow? Step through ' +
            'the formula. Forward, each box computes its <b class="value">value</b>. Backward, each box takes the <b ' +
            'class="gradient">gradient</b> that arrived, multiplies it by its own derivative, and hands the products to ' +
            'its inputs.',
        '勾配は、ひとつの問いに答えます。「この数が少し増えたら、結果はどれだけ増えるか」。式を一歩ずつたどってみましょ' +
            'う。順伝播では、各箱が自分の<b class="value">値</b>を計算します。逆伝播では、各箱が届いた' +
            '<b class="gradient">勾配</b>に自分の微分を掛け、その積を入力へ渡します。',
    ],
    formula_label: ['Formula', '式'],
    formula_examples: ['or take one', '例から選ぶ'],
    formula_character: [
        'The character “{character}” is not part of a formula.',
        '「{character}」という文字は式に使えません。',
    ],
    formula_expected: ['Expected “{wanted}”, found “{found}”.', '「{wanted}」があるはずのところに「{found}」があります。'],
    formula_end: ['the end', '式の終わり'],
    formula_short: ['Something is missing at the end of the formula.', '式の終わりに何かが足りません。'],
    formula_function: ['There is no function {name}. There are: {list}.', '関数{name}はありません。使える関数：{list}。'],
    formula_unexpected: ['“{found}” does not fit here.', '「{found}」はここには置けません。'],
    formula_taken: ['{name} is taken; choose another name.', '{name}は使用済みの名前です。別の名前にしてください。'],
    formula_name: ['{name} has more than {n} letters.', '{name}は{n}文字より長い名前です。'],
    formula_order: ['{name} is used before it is defined.', '{name}が定義より前に使われています。'],
    formula_twice: [
        '{name} is defined twice, or after it was used.',
        '{name}が二度定義されているか、使われた後に定義されています。',
    ],
    formula_adds: [
        'A formula has no “+=”: write “{name} = …” with the whole sum.',
        '式では「+=」を使えません。和をすべて書いて「{name} = …」とします。',
    ],
    formula_quotient: [
        'Write “{name} = …” in place of “{found} = …”: the gradient of the result, and not a quotient.',
        '「{found} = …」ではなく「{name} = …」と書きます。商ではなく、結果の勾配です。',
    ],
    formula_no_operation: [
        'Each step needs an operation, such as y = x * x.',
        '各ステップには y = x * x のような演算が必要です。',
    ],
    formula_no_leaf: [
        'The result depends on no variable, so there is nothing to change.',
        '結果がどの変数にもよらないので、変えられるものがありません。',
    ],
    formula_tokens: ['A step has more than {n} symbols.', '1ステップの数、名前、記号が、合わせて{n}個を超えています。'],
    formula_gradient: [
        '{name} is the gradient of {of}; choose another name.', '{name}は{of}の勾配の名前です。別の名前にしてください。',
    ],
    formula_long: ['The formula has more than {n} operations.', '式の演算が{n}個を超えています。'],
    formula_unknown: ['{name} is not known here. Known are: {list}.', '{name}はここでは使えません。使える名前：{list}。'],
    gradient_graph: ['Computation graph', '計算グラフ'],
    leaves_title: ['Change a value', '値を変える'],
    check_title: ['Is it right?', '正しいか確かめる'],
    check_backward: ['backward', '逆伝播'],
    check_moved: ['numerical: moved by ±0.01', '数値微分：±0.01動かす'],
    check_agree: ['✓ ag_gradcheck: the gradients agree.', '✓ ag_gradcheck：勾配は一致しています。'],
    check_nothing: ['Here the formula has no finite value or gradient.', 'ここでは式の値または勾配が有限ではありません。'],
    check_differ: [
        '✗ ag_gradcheck: the gradients differ, as they do near a kink or a very steep place.',
        '✗ ag_gradcheck：勾配が一致しません。折れ目や非常に急な場所の近くで起こります。',
    ],
    words_start: ['Start: the numbers that you may change', '開始：変えられる数'],
    words_start_more: ['Press → to compute the first operation.', '→ を押すと、最初の演算を計算します。'],
    words_forward: ['Forward, step {k} of {n}', '順伝播 {k} / {n}'],
    words_turn: [
        '{y} is known. From here it goes back: the next step asks what each box contributed.',
        '{y}が求まりました。ここから引き返します。次のステップから、各箱がどれだけ効いたかを調べます。',
    ],
    words_backward: ['Backward, step {k} of {n}: {call}', '逆伝播 {k} / {n}：{call}'],
    words_seed: [
        'd{y} = 1: if {y} grows by a little, {y} grows by just that.',
        'd{y} = 1：{y}が少し増えれば、{y}はちょうどそれだけ増えます。',
    ],
    words_sum: [
        '<i>{u}</i> is used in {n} places, and each of them changes the result. So its gradients add: <br><i>d{u}</i> = ' +
            '{sum} = <b class="gradient">{total}</b>',
        '<i>{u}</i>は{n}か所で使われ、そのどれもが結果を変えます。だから勾配を足します。<br><i>d{u}</i> = {sum} = ' +
            '<b class="gradient">{total}</b>',
    ],
    words_end: [
        'Every gradient is known. One pass back was enough for all of them.',
        'すべての勾配が求まりました。一度引き返すだけで、全部が求まります。',
    ],
    gradient_title: ['One gradient, by hand', '勾配をひとつ、手で求める'],
    gradient_ask: [
        '<b>Why do gradients add?</b> {u} is used in {n} places. What is its gradient made of? Predict, then step until ' +
            'd{u} is a sum.',
        '<b>なぜ勾配を足すのでしょう。</b> {u}は{n}か所で使われています。その勾配は何からできるでしょうか。予想してから、' +
            'd{u}が和になるステップまで進んでください。',
    ],
    gradient_answer: [
        '{u} is used in {n} places. If {u} grows a little, each use changes {y} by its own amount, as if {u} stood ' +
            'still in the others. The changes add, so the gradients of the uses add.',
        '{u}は{n}か所で使われています。{u}が少し増えると、それぞれの場所が、ほかの場所では{u}が動かないかのように、{y' +
            '}を自分の分だけ変えます。変化は足し合わされるので、場所ごとの勾配も足し合わされます。',
    ],
    check_ask: [
        '<b>Does the numerical gradient agree to the last digit?</b> Predict, then move a number.',
        '<b>数値微分は、最後の桁まで一致するでしょうか。</b> 予想してから、数を動かしてください。',
    ],
    check_answer: [
        'No: it is the slope between two points, 0.01 to the left and to the right, not the slope at the point itself. ' +
            'Floats are rounded, too. So a gradient check does not ask for equal numbers, only for a small difference.',
        'いいえ。これは左右に0.01だけ離れた二点の間の傾きで、その点での傾きではありません。floatの丸めの誤差もあります。' +
            'だから勾配確認では、等しいことではなく、差が小さいことを確かめます。',
    ],
    gradient_other_ask: [
        '<b>Which variable changes {y} most?</b> Predict, then step to the end.',
        '<b>{y}を最も大きく変える変数はどれでしょう。</b> 予想してから、最後のステップまで進んでください。',
    ],
    gradient_other_answer: [
        'It is {x}: its gradient, {slope}, is the largest in size. If {x} grows by 0.01, {y} changes by about 0.01 ' +
            'times this number.',
        '{x}です。勾配{slope}の大きさが最大です。{x}が0.01増えると、{y}は約0.01×この数だけ変わります。',
    ],
    formula_grammar: [
        '+ − * / ^, tanh, exp, log, sqrt, sigmoid, relu, sin, cos, and the constants e and pi. Two factors side by side ' +
            'are a product; a semicolon divides steps.',
        '+ − * / ^ と tanh, exp, log, sqrt, sigmoid, relu, sin, cos、定数 e と pi を使えます。並べて書いた因数は積です。' +
            'ステップはセミコロン（;）で区切ります。',
    ],
    formula_stale: [
        'The figure below still shows the last formula that was right.',
        '下の図は、最後に正しかった式のままです。',
    ],
    constant_e: ['e is the constant 2.71828…, not a variable.', 'e は変数ではなく、定数2.71828…です。'],
    constant_pi: ['pi is the constant 3.14159…, not a variable.', 'pi は変数ではなく、定数3.14159…です。'],
    domain_sqrt: [
        '{name} has no value: the root of {a} is not a real number.',
        '{name}の値はありません。{a}の平方根は実数になりません。',
    ],
    domain_log: [
        '{name} has no finite value: log needs a number above 0, and here it gets {a}.',
        '{name}は有限の値になりません。logには0より大きい数が必要ですが、ここでは{a}です。',
    ],
    domain_div: ['{name} has no value: {a} is divided by 0.', '{name}の値はありません。{a}を0で割っています。'],
    domain_pow: [
        '{name} has no finite value: {a} to the power {b} is not a real number.',
        '{name}は有限の値になりません。{a}の{b}乗は実数になりません。',
    ],
    domain_large: ['{name} is too large for a float.', '{name}はfloatで表せないほど大きくなりました。'],
});
