// Every text of the page: [English, Japanese]. {name} is replaced by a number or a word; <b>, <i> and <code> are allowed.

const texts = {
    title: ['kaeru: gradients, one step at a time', 'kaeru：勾配を一歩ずつ'],
    skip_link: ['Skip to the first section', '最初の節へ移動'],
    heading: ['How a network finds out what to change', 'ネットワークは、何を変えればよいかをどう知るのか'],
    lead: [
        'kaeru is a small deep-learning library in C. It runs inside this page: every number below is computed by it ' +
            'while you watch, with the same bits as in a program on your machine.',
        'kaeruはCで書かれた小さな深層学習ライブラリです。このページの中でそのまま動いています。以下の数はすべて、' +
            'このライブラリがその場で計算します。手元のプログラムと1ビットも違いません。',
    ],
    nav_label: ['Sections', '目次'],
    keys: [
        'All of it works with the keyboard: Tab goes from control to control; ← and → step through the figure in view.',
        'キーボードだけで操作できます。Tabで次の操作部品へ、← → で画面に見えている図を一歩ずつ進めます。',
    ],
    failure: [
        'The engine could not start. A browser from 2023 or later is needed.',
        'エンジンを起動できませんでした。2023年以降のブラウザが必要です。',
    ],
    footer: [
        'kaeru is C11 and needs only libc, libm and pthreads. The programs behind these figures are in its folder <code>' +
            'examples</code>; their lessons are in <code>examples/README.md</code>.',
        'kaeruはC11で書かれ、libc、libm、pthreadsだけを使います。図のもとになったプログラムは <code>examples' +
            '</code> フォルダに、そのレッスンは <code>examples/README.ja.md</code> にあります。',
    ],
    back: ['One step back', '一歩戻る'],
    forward: ['One step forward', '一歩進む'],
    step_slider: ['Step', 'ステップ'],
    train: ['Train', '学習する'],
    pause: ['Pause', '一時停止'],
    go_on: ['Go on', '続ける'],
    done: ['Done', '完了'],
    again: ['Start again', '最初から'],
    one_step: ['One step', '1ステップ'],
    axis_step: ['step', 'ステップ'],
    axis_loss: ['loss', '損失'],
    hash: ['SHA-256 of the trained weights: {hash}.', '学習した重みのSHA-256：{hash}。'],
    hash_equal: ['The native program prints the same.', 'ネイティブのプログラムの出力と一致します。'],
    hash_differs: ['The native program printed another one!', 'ネイティブのプログラムの出力と一致しません！'],

    // ---- 1
    gradient_short: ['One gradient', '勾配をひとつ'],
    gradient_title: ['1. One gradient, by hand', '1. 勾配をひとつ、手で求める'],
    gradient_intro: [
        'A gradient answers one question: if this number grows a little, how much does the result grow? Step through ' +
            'the formula. Forward, each box computes its <b class="value">value</b>. Backward, each box takes the ' +
            '<b class="gradient">gradient</b> that arrived, multiplies it by its own derivative, and hands the products to ' +
            'its inputs.',
        '勾配は、ひとつの問いに答えます。「この数が少し増えたら、結果はどれだけ増えるか」。式を一歩ずつたどってみ' +
            'ましょう。順伝播では、各箱が自分の<b class="value">値</b>を計算します。逆伝播では、各箱が届いた' +
            '<b class="gradient">勾配</b>に自分の微分を掛け、その積を入力へ渡します。',
    ],
    gradient_ask: [
        '<b>Why do gradients add?</b> u is used in two places. Go to the step where du becomes a sum. Which change of y ' +
            'belongs to each of the two terms?',
        '<b>なぜ勾配を足すのでしょう。</b> uは二か所で使われています。duが和になるステップまで進んでください。二' +
            'つの項は、それぞれyのどの変化に対応しますか。',
    ],
    formula_label: ['Formula', '式'],
    formula_grammar: [
        '+ − * / ^, tanh, exp, log, sqrt, sigmoid, relu, sin, cos. Two factors side by side are a product; a semicolon ' +
            'divides steps.',
        '+ − * / ^ と tanh, exp, log, sqrt, sigmoid, relu, sin, cos を使えます。並べて書いた因数は積です。ステップは' +
            'セミコロン（;）で区切ります。',
    ],
    formula_examples: ['or take one', '例から選ぶ'],
    formula_character: ['The character “{character}” is not part of a formula.', '「{character}」という文字は式に使えません。'],
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
    formula_no_operation: [
        'Each step needs an operation, such as y = x * x.',
        '各ステップには y = x * x のような演算が必要です。',
    ],
    formula_no_leaf: [
        'The formula has no variable, so there is nothing to change.',
        '式に変数がないので、変えられるものがありません。',
    ],
    formula_long: ['The formula has more than {n} operations.', '式の演算が{n}個を超えています。'],
    formula_unknown: ['{name} is not known here. Known are: {list}.', '{name}はここでは使えません。使える名前：{list}。'],
    leaves_title: ['Change a value', '値を変える'],
    check_title: ['Is it right?', '正しいか確かめる'],
    check_backward: ['backward', '逆伝播'],
    check_moved: ['measured: moved by ±0.01', '実測：±0.01動かす'],
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
        '<i>{u}</i>は{n}か所で使われ、そのどれもが結果を変えます。だから勾配を足します。<br><i>d{u}</i> = {sum} =' +
            ' <b class="gradient">{total}</b>',
    ],
    words_end: [
        'Every gradient is known. One pass back was enough for all of them.',
        'すべての勾配が求まりました。一度引き返すだけで、全部が求まります。',
    ],

    // ---- 2
    rule_short: ['Write a backward', '逆伝播を書く'],
    rule_title: ['2. Write a backward yourself', '2. 逆伝播を自分で書く'],
    rule_intro: [
        'An operation needs two formulas: how it computes y, and how it hands the gradient on. Write the second one. ' +
            '<code>dy</code> is the gradient that arrives; you may use <code>x</code>, <code>z</code> and <code>y</code>. ' +
            'The library’s own check grades it: it moves each input a little and measures.',
        '演算には二つの式が要ります。yの計算のしかたと、勾配の渡し方です。二つ目を書いてみましょう。届く勾配は ' +
            '<code>dy</code> です。<code>x</code>、<code>z</code>、<code>y</code> を使えます。採点するのはライブラリ' +
            '自身の勾配チェックです。入力を少しずつ動かして測ります。',
    ],
    rule_exercise: ['Exercise', '問題'],
    rule_forward: ['Forward', '順伝播'],
    rule_backward: ['Backward: one line for each input', '逆伝播：入力ごとに1行'],
    rule_grammar: [
        'Plain arithmetic: + − * / ^ and the functions of section 1. Two factors side by side are a product. Ctrl+Enter ' +
            'checks.',
        'ふつうの計算式です。+ − * / ^ と第1節の関数を使えます。並べて書いた因数は積になります。Ctrl+Enterで確か' +
            'めます。',
    ],
    rule_check: ['Check the rule', '確かめる'],
    rule_answer: ['Show a solution', '解答を見る'],
    rule_needs: ['A line “{name} = …” is missing.', '「{name} = …」の行がありません。'],
    rule_right: [
        '✓ Right: it agrees with what was measured, at each of the six numbers of each input.',
        '✓ 正解：どの入力の6個の数でも、実測と一致しました。',
    ],
    rule_wrong: [
        '✗ Not yet. The report of ag_gradcheck says where, and often why:',
        '✗ まだ違います。どこが違うか、多くの場合その理由も、ag_gradcheckの報告に出ています（英語）。',
    ],
    rule_ask: [
        '<b>What does the rule of tanh need?</b> Its exercise uses x and is wrong. With y it is right, and the library ' +
            'can forget x.',
        '<b>tanhの規則には何が必要でしょう。</b> この問題の初めの規則はxを使っていて、誤りです。yを使えば正しく、' +
            'ライブラリはxを忘れてもかまいません。',
    ],

    // ---- 3
    spiral_short: ['Train a network', '学習させる'],
    spiral_title: ['3. A network learns a spiral', '3. ネットワークが渦巻きを学ぶ'],
    spiral_intro: [
        'Points lie on two arms, and a network of two layers learns on which. A step computes the gradient of every ' +
            'weight as in section 1, and moves each weight a little against it. This is <code>examples/spiral.c</code>, ' +
            'which the README shows as a whole.',
        '点は二本の腕の上にあり、2層のネットワークが、どちらの腕かを学びます。1ステップでは、第1節と同じやり方で' +
            'すべての重みの勾配を求め、それぞれの重みを逆向きに少しだけ動かします。READMEに全文のある <code>' +
            'examples/spiral.c</code> そのものです。',
    ],
    spiral_width: ['Hidden numbers', '隠れユニットの数'],
    spiral_untrained: ['Not trained yet: the weights are random.', '未学習：重みは乱数です。'],
    spiral_state: ['Step {step}: loss {loss}. {seconds} s of computing.', 'ステップ{step}：損失{loss}。計算時間{seconds}秒。'],
    spiral_map: [
        'Points of the two arms, and in color which arm the network expects at each place, after {step} steps.',
        '二本の腕の点。色は、ネットワークがその場所でどちらの腕と予想するか。{step}ステップ後。',
    ],
    spiral_ask: [
        '<b>How few hidden numbers are enough?</b> Each of them is one soft edge in the plane. Try 2, 4 and 8.',
        '<b>隠れユニットの数はいくつまで減らせるでしょう。</b> そのひとつひとつが、平面の上のなだらかな境目になり' +
            'ます。2、4、8を試してください。',
    ],

    // ---- 4
    race_short: ['Skip or no skip', 'スキップ接続'],
    race_title: ['4. f(x) against x + f(x)', '4. f(x)と x + f(x) の競走'],
    race_intro: [
        'Two networks learn the same easy task: return the input. Each is a stack of blocks f. One computes f(x) in ' +
            'each block, the other x + f(x), a <em>skip connection</em>. The second figure shows what arrives when the ' +
            'gradient goes back through the blocks before training.',
        '二つのネットワークが、同じやさしい課題を学びます。入力をそのまま返すことです。どちらもブロックfを重ねた' +
            'ものです。一方は各ブロックでf(x)を、もう一方は x + f(x) を計算します。後者が<em>スキップ接続</em>です。' +
            '二つ目の図は、学習の前に、勾配がブロックをさかのぼるとどうなるかを示します。',
    ],
    race_depth: ['Blocks (depth)', 'ブロックの数（深さ）'],
    race_width: ['Hidden numbers in f', 'fの隠れユニットの数'],
    race_go: ['Race: 200 steps', '競走：200ステップ'],
    race_all: ['Race at many depths', 'いろいろな深さで競走'],
    race_running: ['Depth {depth}: they are learning.', '深さ{depth}：学習中。'],
    race_ready: ['Depth {depth}: ready.', '深さ{depth}：準備完了。'],
    race_state: [
        'Depth {depth}, step {step}: f(x) has the loss {plain}, x + f(x) has {skip}.',
        '深さ{depth}、ステップ{step}：損失はf(x)が{plain}、x + f(x) が{skip}。',
    ],
    race_nothing: ['always answering 0', '常に0と答えた場合'],
    race_block: ['block: 0 is the input', 'ブロック（0は入力）'],
    race_norm: ['norm of the gradient before training', '学習前の勾配のノルム'],
    race_norm_text: [
        'Norm of the gradient from the input to the output of block {n}: f(x) from {plain} to {plain_end}, x + f(x) ' +
            'from {skip} to {skip_end}.',
        '入力からブロック{n}の出力までの勾配のノルム：f(x)は{plain}から{plain_end}、x + f(x) は{skip}から' +
            '{skip_end}。',
    ],
    race_final: ['loss after 200 steps', '200ステップ後の損失'],
    race_found: ['What you have found so far', 'これまでに分かったこと'],
    race_result: ['Depth {depth}: f(x) {plain}, x + f(x) {skip}.', '深さ{depth}：f(x) {plain}、x + f(x) {skip}。'],
    race_none: ['No race is finished yet.', 'まだ競走は終わっていません。'],
    race_ask: [
        '<b>At which depth does f(x) stop learning, while x + f(x) still learns?</b> Then look at the gradient: each ' +
            'block multiplies it by <span class="nb">f′(x)</span>, which is small, or by <span class="nb">1 + f′(x)</span>, ' +
            'which is not.',
        '<b>f(x)が学ばなくなり、x + f(x) はまだ学ぶのは、どの深さからでしょう。</b> 次に勾配を見てください。各ブ' +
            'ロックは勾配にf′(x)を掛けます。これは小さい数です。スキップ接続があれば、掛けるのは 1 + f′(x) で、小さ' +
            'くありません。',
    ],

    // ---- 5
    geometry_short: ['Attention as geometry', '図形で見るアテンション'],
    geometry_title: ['5. Attention moves words', '5. アテンションは単語を動かす'],
    geometry_intro: [
        'Four words are points in the plane. Attention replaces each word by a mean of all words, weighted by how well ' +
            'they match. So every word moves into the polygon, and the polygon shrinks. Drag a word, or go to it with Tab ' +
            'and move it with the arrow keys.',
        '四つの単語を平面の点とします。アテンション（注意機構）は、各単語をすべての単語の平均で置き換えます。重み' +
            'は、二つの単語がどれだけ合うかで決まります。だからどの単語も多角形の内側へ動き、多角形は縮みます。単語を' +
            'ドラッグするか、Tabで選んで矢印キーで動かしてください。',
    ],
    geometry_temperature: ['Temperature', '温度'],
    geometry_layers: ['Layers of attention', 'アテンションの層の数'],
    geometry_again: ['As at first', '元に戻す'],
    geometry_plane: [
        'Four words in the plane, the dashed polygon of the words, and the polygons after attention',
        '平面上の四つの単語、その多角形（破線）、アテンションの後の多角形',
    ],
    geometry_words: ['this is a pen', 'これ は ペン です'],
    geometry_word: ['word “{word}”: arrow keys move it', '単語「{word}」：矢印キーで動かす'],
    geometry_area: [
        'The polygon keeps <b class="value">{kept} %</b> of its area.',
        '多角形の面積は<b class="value">{kept}%</b>になります。',
    ],
    geometry_area_layers: [
        'After {n} layers the polygon keeps <b class="value">{kept} %</b> of its area.',
        '{n}層の後、多角形の面積は<b class="value">{kept}%</b>になります。',
    ],
    geometry_weights: [
        'How much each word (row) attends to each word (column)',
        '各単語（行）が各単語（列）へ向けるアテンション',
    ],
    geometry_ask: [
        '<b>What does temperature do?</b> Hot: all weights become equal, and the words fall into one point, their mean. ' +
            'Cold: each word picks one word, at the first places itself. Can you place a word so that even cold attention ' +
            'moves it far?',
        '<b>温度は何をするのでしょう。</b> 高いと、重みはすべて等しくなり、単語は平均の一点に集まります。低いと、各単語' +
            'はひとつの単語を選びます。初めの位置では自分自身です。低い温度でも大きく動く場所に、単語を置けますか。',
    ],

    // ---- 6
    transformer_short: ['A Transformer', 'Transformer'],
    transformer_title: ['6. A Transformer learns to sort', '6. Transformerが並べ替えを学ぶ'],
    transformer_intro: [
        'The model of “Attention Is All You Need”, small: an encoder and a decoder of one layer each, 6,171 weights. It ' +
            'reads six digits and writes them sorted, or in reverse. Watch its three maps of attention while it learns. ' +
            'Each row of a map is a place that asks; the darker a cell, the more it takes from that digit.',
        '“Attention Is All You Need” のモデルを小さくしたものです。エンコーダとデコーダが1層ずつ、重みは6,171' +
            '個。6個の数字を読み、並べ替えて、または逆順に書きます。学習中の三つのアテンションの図を見てください。図' +
            'の各行は、尋ねる側の場所です。色の濃いマスほど、その数字から多くを受け取ります。',
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
    map_decoder: ['Decoder: the right digits so far, as in training (▸ is the start)', 'デコーダ：それまでの正しい数字、学習時と同じ（▸ は開始記号）'],
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
        'Training needs the gradient of all 6,171 weights. It comes the same way as in section 1: from the loss back, ' +
            'one operation at a time, through the decoder and then the encoder. Vermilion is positive, blue is negative; ' +
            'each figure has its own scale.',
        '学習には6,171個すべての重みの勾配が要ります。求め方は第1節と同じです。損失から、演算をひとつずつ、デコー' +
            'ダ、次にエンコーダへとさかのぼります。朱色は正、青は負で、濃さの目盛りは図ごとに違います。',
    ],
    back_where: ['Step {k} of {n}. {side}: {part}', '{k} / {n}。{side}：{part}'],
    flow_encoder: ['Encoder', 'エンコーダ'],
    flow_decoder: ['Decoder', 'デコーダ'],
    part_embed: ['embed', '埋め込み'],
    part_norm: ['norm', '正規化'],
    part_self: ['self-attention', '自己注意'],
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
        '各行は、確率から正解の位置の1を引き、6で割ったものを受け取ります。大きすぎるものは下がり、小さすぎるもの' +
            'は上がります。',
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
        '<b>Train it on <i>reverse</i>, and look at the third map.</b> Nobody told the model where to look. Then go ' +
            'back to the start, choose “attention to source”, and see which gradient taught it.',
        '<b>「逆順」を学習させて、三つ目の図を見てください。</b> どこを見るべきかは、誰も教えていません。次に最初' +
            'に戻して「入力へのアテンション」を選び、どの勾配がそれを教えたかを見てください。',
    ],

    // ---- 7
    bits_short: ['The same bits', '同じビット'],
    bits_title: ['7. The same bits as in C', '7. Cと同じビット'],
    bits_intro: [
        'A float rounds at every operation, so most programs give other digits on another machine. kaeru fixes the ' +
            'order of every sum and has its own exp and tanh. So the weights that were trained in this page are, bit for ' +
            'bit, those of the native program. The hash is that of the weights’ file.',
        'floatは演算のたびに丸められるので、たいていのプログラムはマシンが変わると最後の桁が変わります。kaeruはす' +
            'べての和の順序を決め、expやtanhも自前で計算します。だからこのページで学習した重みは、ネイティブのプログ' +
            'ラムのものと1ビットも違いません。ハッシュは重みのファイルのSHA-256です。',
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
};
