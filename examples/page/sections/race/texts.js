addTexts({
    race_short: ['Skip or no skip', 'スキップ接続'],
    race_title: ['f(x) against x + f(x)', 'f(x)と x + f(x) の競走'],
    race_intro: [
        'Two networks learn the same easy task: return the input, or at choice its opposite, or a matrix times it. Each ' +
            'is a stack of blocks f. One computes f(x) in each block, the other x + f(x), a <em>skip connection</em>; ' +
            'you can let other connections race. The second figure shows what passes through the blocks: the gradient on its ' +
            'way back, or the signal on its way forward. Several seeds give a band, from the least to the largest loss. ' +
            'Here are 100 rows, a learning rate of 0.003 and 200 steps, so the numbers are not those of lesson 6.',
        '二つのネットワークが、同じやさしい課題を学びます。入力をそのまま返すことです。符号を変えて返す課題と、行列を掛' +
            'けて返す課題も選べます。どちらもブロックfを重ねたものです。一方は各ブロックでf(x)を、もう一方は x + f(x) を' +
            '計算します。後者が<em>スキップ接続</em>です。ほかのつなぎ方も選べます。二つ目の図は、ブロックを通るものを示します。逆方向の勾配か、' +
            '順方向の信号を選べます。乱数のシードを複数にすると、損失の最小から最大までが帯になります。ここでは100行、' +
            '学習率0.003、200ステップなので、数はレッスン6と異なります。',
    ],
    race_depth: ['Blocks (depth)', 'ブロックの数（深さ）'],
    race_width: ['Hidden numbers in f', 'fの隠れユニットの数'],
    race_all: ['Race at many depths', 'いろいろな深さで競走'],
    race_running: ['Depth {depth}: they are learning.', '深さ{depth}：学習中。'],
    race_ready: ['Depth {depth}: ready.', '深さ{depth}：準備完了。'],
    race_state: [
        'Depth {depth}, step {step}: its loss is {first} for {a}, {second} for {b}.',
        '深さ{depth}、ステップ{step}：損失は{a}が{first}、{b} が{second}。',
    ],
    race_nothing: ['always answering 0', '常に0と答えた場合'],
    race_block: ['block: 0 is the input', 'ブロック（0は入力）'],
    race_norm_text: [
        'Norm from the input to the output of block {n}: {a} {first}, {b} {second}.',
        '入力からブロック{n}の出力までのノルム：{a} {first}、{b} {second}。',
    ],
    race_to: [' to ', 'から'],
    race_final: ['loss of step 200', 'ステップ200の損失'],
    race_found: ['What you have found so far', 'これまでに分かったこと'],
    race_result: ['Depth {depth}: {a} {first}, {b} {second}.', '深さ{depth}：{a} {first}、{b} {second}。'],
    race_none: ['No race is finished yet.', 'まだ競走は終わっていません。'],
    race_ask: [
        '<b>f(x) of 16 blocks learns nothing. Is the depth to blame, or the initial weights?</b> Predict, then choose ' +
            '<i>he</i>, then <i>small-last</i>, and look at both networks.',
        '<b>16ブロックのf(x)は何も学びません。原因は深さでしょうか、重みの初期値でしょうか。</b> 予想してから <i>he</i>、' +
            '次に <i>small-last</i> を選び、両方のネットワークを見てください。',
    ],
    race_init: ['Initial weights', '重みの初期値'],
    init_default: ['default (PyTorch’s)', 'default（PyTorchの既定）'],
    init_he: ['he', 'he'],
    init_xavier: ['xavier', 'xavier'],
    init_small_last: ['small-last (second layer 0)', 'small-last（2層目が0）'],
    race_seeds: ['Seeds', 'シードの数'],
    race_first_seed: ['First seed', '最初のシード'],
    race_what: ['What passes through the blocks', 'ブロックを通るもの'],
    race_gradient: ['the gradient, back', 'さかのぼる勾配'],
    race_signal: ['the signal, forward', '進む信号'],
    race_norm_gradient: ['norm of the gradient at step {step}', 'ステップ{step}での勾配のノルム'],
    race_norm_signal: ['size of the signal at step {step}', 'ステップ{step}での信号の大きさ'],
    race_answer: [
        'Both. A block multiplies the gradient by <span class="nb">f′(x)</span>, or by <span class="nb">1 + ' +
            'f′(x)</span> with a skip connection. With the default weights f′ is small: signal and gradient of ' +
            'f(x) vanish, those of x + f(x) do not. With <i>he</i>, f(x) keeps both and learns: its loss falls to ' +
            '0.27 to 0.41 (seeds 0 to 4). But 1 + f′ is then far above 1, and x + f(x) starts with a loss of ten ' +
            'thousand or more and ends at 1.6 to 3.3. With <i>small-last</i> each branch starts near 0: f(x) passes ' +
            'nothing, and x + f(x) passes everything, at any depth. So a plain stack needs weights that keep the ' +
            'signal; a stack with skip connections needs branches that start small, as those of GPT-2 do.',
        '両方です。ブロックは勾配に<span class="nb">f′(x)</span>を掛け、スキップ接続があれば<span class="nb">1 + f′' +
            '(x)</span>を掛けます。defaultの重みではf′が小さいので、f(x)では信号も勾配も消え、x + f(x) では消えませ' +
            'ん。<i>he</i> では、f(x)は両方を保って学び、損失は、最後には0.27から0.41になります（シード0から4）。しか' +
            'し1 + f′は1よりずっと大きくなり、x + f(x) は10,000以上の損失から始まり、1.6から3.3で終わります。<i>' +
            'small-last</i> では、どの枝もほぼ0から始まります。f(x)は何も通さず、x + f(x) はどんな深さでもすべてを通' +
            'します。つまり、単純に重ねるなら信号を保つ重みが、スキップ接続で重ねるなら、GPT-2のように小さく始まる枝' +
            'が必要です。',
    ],
    race_rows: ['A block computes', 'ブロックの計算'],
    race_against: ['against', '競う相手'],
    rows_plain: ['f(x)', 'f(x)'],
    rows_skip: ['x + f(x)', 'x + f(x)'],
    rows_scaled: ['x + f(x) / √n: a fixed scale for n blocks', 'x + f(x) / √n：nブロックなら固定の1/√n倍'],
    rows_rezero: ['x + a f(x): a is learned, from 0 (ReZero)', 'x + a f(x)：aを0から学習（ReZero）'],
    rows_scalars: ['a x + b f(x): both are learned, from 1', 'a x + b f(x)：両方を1から学習'],
    rows_highway: ['highway: a learned gate t, t f(x) + (1 − t) x', 'highway：学習するゲートt、t f(x) + (1 − t) x'],
    rows_input: ['input skip: x + f(x) + c x₀, x₀ is the input, c learned from 0', '入力スキップ：x + f(x) + c x₀、x₀は入力、cを0から学習'],
    rows_unet: ['U-net: f(x), and late blocks add what early ones read', 'U-net：f(x)。後半のブロックに前半の入力を足す'],
    'rows_skip-unet': ['skip U-net: U-net with x + f(x)', 'スキップU-net：x + f(x) のU-net'],
    rows_dense: ['DenseNet: f reads all earlier outputs, side by side', 'DenseNet：fは前のすべての出力を並べて読む'],
    rows_streams: ['4 streams: learned matrices mix them', '4ストリーム：学習する行列で混ぜる'],
    rows_stochastic: ['mHC: 4 streams, mixed by doubly stochastic matrices', 'mHC：4ストリーム、二重確率行列で混ぜる'],
    'rows_pre-norm': ['pre-norm: x + f(norm(x))', 'pre-norm：x + f(norm(x))'],
    'rows_post-norm': ['post-norm: norm(x + f(x))', 'post-norm：norm(x + f(x))'],
    race_target: ['Target', '課題'],
    target_identity: ['identity: x', 'identity：x'],
    target_minus: ['minus: −x', 'minus：−x'],
    target_matrix: ['matrix: a matrix times x', 'matrix：行列とxの積'],
});
