// engine_test.js PAGE_HTML SPIRAL_HASH FMA_WASM: the engine of the page in node: the same hashes as the native program;
// formulas, rules.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const { that, same, near, finish } = require('./checks.js');

const [, , page, spiralHash, fma] = process.argv;
const html = fs.readFileSync(page, 'utf8');
const inScript = (id) => html.match(new RegExp(`<script [^>]*id="${id}">([^<]*)</script>`))[1].trim();

// The page's own files, without the page. Classes and constants of a script are not properties of its context.
const context = vm.createContext({ ...globalThis, performance, WebAssembly, TextDecoder, TextEncoder, Blob, Response,
    DecompressionStream, atob });
const sections = fs.readdirSync(path.join(__dirname, '../../examples/page/sections'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory()).map((entry) => `sections/${entry.name}/texts.js`);
for (const name of ['scripts/texts.js', 'scripts/language.js', ...sections, 'scripts/engine.js', 'scripts/draw.js',
    'scripts/formula.js', 'sections/gradient/section.js', 'sections/race/section.js', 'sections/rule/grade.js',
    'sections/rule/repair.js', 'sections/rule/section.js']) {
    const file = path.join(__dirname, '../../examples/page', name);
    vm.runInContext(fs.readFileSync(file, 'utf8'), context, { filename: file });
}
const inPage = (expression) => vm.runInContext(expression, context);

async function run() {
    const { instance } = await WebAssembly.instantiate(fs.readFileSync(fma));
    same('wrong multiply-adds', instance.exports.wrong(), 0);

    const native = JSON.parse(inScript('native'));
    same("the native page's spiral is that of spiral.c", native.spiral.hash, spiralHash);
    const engine = await inPage('loadEngine')(inScript('engine'));
    const train = (what, steps, ...begin) => {
        engine.call(`${what}_begin`, ...begin);
        for (let i = 0; i < steps; i++) engine.call(`${what}_train`, 1);
        engine.call(`${what}_hash`);
        return JSON.parse(engine.printed());
    };
    const numbers = (n) => Array.from(engine.numbers(n));

    // Runs in turn do not disturb each other, and a second run gives the same bits.
    engine.call('spiral_begin', 64, 0, 0, 0.02, 0);
    engine.call('spiral_train', 100);
    same('sort', train('sorter', native.sort.steps, 0, 0), native.sort.hash);
    // The history: the weights of an earlier step are shown, and the last ones come back.
    const saved = engine.numbers(engine.call('spiral_weights', 0)).slice();
    engine.call('spiral_train', 50);
    const later = engine.numbers(engine.call('spiral_weights', 0)).slice();
    const show = (weights) => {
        engine.numbers(weights.length).set(weights);
        engine.call('spiral_weights', 1);
    };
    show(saved);
    same('the weights of step 100', engine.numbers(engine.call('spiral_weights', 0)).join(), saved.join());
    show(later);
    engine.call('spiral_train', native.spiral.steps - 150);
    engine.call('spiral_hash');
    same('spiral', JSON.parse(engine.printed()), native.spiral.hash);
    same('reverse', train('sorter', native.reverse.steps, 1, 0), native.reverse.hash);
    engine.write('271828');
    const look = engine.json('sorter_look');
    same('what it writes', look.output.join(''), '828172');
    for (const row of [0, 1, 2, 3, 4, 5]) {
        for (const map of ['encoder', 'decoder', 'source']) near(`${map}: row ${row}`, look[map].slice(6 * row, 6 * row + 6)
            .reduce((a, b) => a + b), 1);
        that(`row ${row} reads from the other end`, look.source[6 * row + 5 - row] > 0.5, look.source[6 * row + 5 - row]);
    }
    const trace = engine.json('sorter_trace');
    that('steps of its backward pass', trace.steps.length > 60, trace.steps.length);
    const weights = trace.nodes.filter((n) => n.leaf && n.trained).reduce((sum, n) => sum + n.value.length, 0);
    same('weights in the trace', weights, 6171);
    same('operations without a sentence', [...new Set(trace.nodes.map((n) => n.op).filter((op) => op
        && !inPage('texts')[`op_${op}`]))]
        .filter((op) => trace.steps.some((s) => trace.nodes[s.node].op === op)).join(), '');

    // The formula of lesson 1, with the numbers that the example prints.
    const gradients = (text, values) => {
        engine.write(inPage('compileFormula')(text, new Map(Object.entries(values))).text);
        const t = engine.json('formula_trace'), found = {};
        t.steps.forEach((s) => s.gives.forEach((g) => { found[t.nodes[g.node].symbol] = g.sum[0]; }));
        const y = t.nodes[t.nodes.length - 1], reads = y.reads.map((i) => t.nodes[i].symbol).join(' ');
        return { ...found, value: y.value[0], reads, agree: t.agree, slopes: t.slopes };
    };
    const lesson = gradients('u = w x + b; y = u tanh(u)', { w: 0.5, x: 3, b: -1 });
    near('y', lesson.value, 0.23106, 1e-5);
    near('du', lesson.u, 0.85534, 1e-5);
    near('dw', lesson.w, 2.56602, 1e-5);
    near('dx', lesson.x, 0.42767, 1e-5);
    near('dw, measured', lesson.slopes[0].slope, 2.56492, 1e-5);
    that('the check agrees', lesson.agree);
    near('x x x', gradients('y = x x x', { x: 2 }).x, 12);
    near('powers bind first', gradients('y = -2 x^2 / 4', { x: 3 }).x, -3);
    near('subtraction to the left', gradients('y = a - b - c', { a: 5, b: 2, c: 1 }).value, 2);
    near('a sum of uses', gradients('b = a + a; c = b + b', { a: 1 }).a, 4);
    same('what the rule of a product reads', gradients('y = a b', { a: 2, b: 3 }).reads, 'a b');
    same('what the rule of exp reads', gradients('y = exp(x)', { x: 2 }).reads, 'y');
    near('functions', gradients('y = exp(log(x)) + sqrt(x^2) + sin(0 x) + cos(0 x)', { x: 2 }).x, 2);
    for (const bad of ['', 'u +', 'y = foo(x)', 'y = (x', 'y = 2', 'x', 'y = x $ 2', 'y = u; u = x + 1', 'tanh = x + 1',
        '1 + 2', 'y = longername12 + 1', 'y = pi e']) {
        let message = '';
        try {
            inPage('compileFormula')(bad, new Map());
        } catch (error) {
            message = error.constructor.name === 'FormulaError' ? error.message : '';
        }
        that(`refused: "${bad}"`, message !== '' && !message.includes('{'), message);
    }

    // Constants, and where formulas leave the numbers.
    near('e and pi are constants', gradients('y = e^x + sin(π x)', { x: 1 }).x, Math.E - Math.PI);
    const defined = inPage('compileFormula')('e = x + 1; y = 2 e', new Map());
    same('a name that is defined is no constant', defined.constants.length, 0);
    const named = inPage('compileFormula')('y = toString + 1', new Map());
    same('a name that objects have is a variable', named.leaves.join(), 'toString');
    for (const [formula, x, words] of [['y = sqrt(x)', -1, 'the root of −1'], ['y = log(x)', 0, 'log needs a number above 0'],
        ['y = 2 / (x - 1)', 1, '2 is divided by 0'], ['y = x^0.5', -2, '−2 to the power 0.5'], ['y = exp(x)', 200, 'too large'],
        ['y = x + 1', 1, null]]) {
        engine.write(inPage('compileFormula')(formula, new Map([['x', x]])).text);
        const found = inPage('domainError')(inPage('readTrace')(engine.json('formula_trace')));
        that(`domain of ${formula}`, words ? found?.includes(words) : found === null, found);
    }

    // Every exercise: its first rule is wrong, its solution is right. A usage error leaves the engine usable.
    const graded = (forward, lines) => inPage('gradeInEngine')(engine, inPage('compileRule')(forward, lines));
    for (const e of inPage('EXERCISES')) {
        that(`${e.forward}: the first rule is wrong`, graded(e.forward, e.start).wrong.length > 0);
        const found = graded(e.forward, e.solution);
        that(`${e.forward}: the solution is right`, found.wrong.length === 0 && found.library, engine.printed());
    }
    // Rules that are nearly right, or wrong in a known way, with a word of the hint.
    const hint = (forward, lines) => {
        const { wrong, hints } = inPage('gradeWritten')(inPage('compileRule')(forward, lines));
        return wrong.length ? hints.map(([, told]) => told ?? 'wrong').join('; ') : 'right';
    };
    for (const [forward, lines, words] of [['y = x^2', 'dx = 2 dy x', 'right'],
        ['y = x^2', 'dx = 0', 'it is 0'], ['y = x^2', 'dx = 2.08 dy x', '1.04 times'],
        ['y = x^2', 'dx = 2 dy x + 0.05', 'term 0.05'], ['y = x^2', 'dx = 2 dy x + 0.02 dy', 'term 0.02 dy'],
        ['y = x^2', 'dx = 2.00001 dy x', '1.000005 times'], ['y = x^2', 'dx = 2 dy x + 0.000001 dy', 'dy is too much'],
        ['y = x^2 1000000', 'dx = 2000001 dy x', '1.0000005 times'], ['y = x^2', 'dx = -2 dy x', 'sign'],
        ['y = x^2', 'dx = 2 x', 'factor dy is missing'],
        ['y = x^2', 'dx = 2 dy', 'factor x is missing'], ['y = x^2', 'dx = 2 dy x^2', 'a factor x too many'],
        ['y = x^2', 'dx = 2 dy dy x', 'a factor dy too many'], ['y = x^2', 'dx = log(dy)', 'not a finite number at x = '],
        ['y = x + z', 'dx = dy\ndz = dy sqrt(z) / sqrt(z)', ', z = −'],
        ['y = x^2', 'dx = 2 x dy^3', 'proportional to dy'], ['y = x z', 'dx = dy x\ndz = dy z', 'Exchange dx and dz'],
        ['y = x^2 z', 'dx = dy x z\ndz = dy x', '0.5 times'],
        ['y = tanh(x)', 'dx = dy (1 - x^2)', 'x stands where something else belongs'],
        ['y = tanh(x)', 'dx = dy (1 - y)', 'y must be squared'], ['y = tanh(x)', 'dx = dy (1 + y^2)', 'the sign of 1 + y^2'],
        ['y = tanh(x)', 'dx = dy (1 - y)^2', 'the exponent in (1 − y)^2'],
        ['y = tanh(x)', 'dx = dy (1 - tanh(x^2))', 'the exponent in tanh(x^2)'],
        ['y = (1 - x)^3', 'dx = -3 dy (1 - x^2)', 'the exponent in 1 − x^2'],
        ['y = tanh(x)', 'dx = dy y^2', '1 − y^2 or'], ['y = tanh(x)', 'dx = dy tanh(x)', 'take its derivative'],
        ['y = tanh(x)', 'dx = dy (1 - tanh(y)^2)', 'the function tanh'],
        ['y = sigmoid(x)', 'dx = dy y (2 - y)', 'the number 2'],
        ['y = tanh(x)', 'dx = dy (1 - 2 y^2)', '2 does not belong'], ['y = tanh(x)', 'dx = dy / (1 + x^2)', 'wrong'],
        ['y = tanh(x)', 'dx = dy - y^2', 'the factor dy is missing in y^2'],
        ['y = x sigmoid(x)', 'dx = dy sigmoid(x)', 'x stands in 2 places'],
        ['y = x^2', 'dx = 2 dy + x', 'a product belongs there'], ['y = sin(30 x)', 'dx = 30 dy cos(30 x)', 'right'],
        ['y = x / z', 'dx = dy z\ndz = -dy x / z^2', 'you multiply by z'], ['y = relu(x)', 'dx = dy', 'x is positive'],
        ['y = x / z', 'dx = dy / z\ndz = dy / x', 'times the correct value'],
        ['y = x^2 z', 'dx = 2 dy x z\ndz = 2 dy x', 'times the correct value'],
        ['y = sqrt(x) + log(z)', 'dx = dy log(z) / (2 sqrt(x))\ndz = dy / z', 'log(z) does not belong there'],
        ['y = sqrt(x)', 'dx = dy / (2 y)', 'right'], ['y = exp(x)', 'dx = dy y', 'right'],
        ['y = log(x)', 'dx = dy / x', 'right'], ['y = sqrt(x^2)', 'dx = dy', 'right where x is positive'],
        ['y = relu(x - 3)', 'dx = dy', 'right where x − 3 is positive'], ['y = x^2', 'dx = dy 2 y', 'y stands where'],
        ['y = x^2', 'dx = dy 2^x', 'not a power'], ['y = sigmoid(x)', 'dx = dy (1 - y^2)', 'the rule of tanh'],
        ['y = sigmoid(x)', 'dx = dy x (1 - x)', 'x stands where something else belongs'],
        ['y = x sigmoid(x)', 'dx = dy y (1 - y)', 'the rule of sigmoid']]) {
        const found = hint(forward, lines);
        that(`${forward}, ${lines}`, words === 'right' ? found === 'right' : found !== 'right' && found.includes(words), found);
    }
    // Rules for forward functions with corners, poles, and places without a value: no wrong one is called right, whatever
    // exercise was chosen; and a right one is, in whatever form.
    const judged = { 'y = sqrt(x^2)': [['dx = dy x / y', 'dx = dy sqrt(x^2) / x'],
            ['dx = dy', 'dx = -dy', 'dx = dy y', 'dx = dy x', 'dx = dy x^2 / y^2']],
        'y = relu(x)': [['dx = dy y / x', 'dx = dy x / sqrt(x^2) / 2 + dy / 2'],
            ['dx = dy', 'dx = 0', 'dx = dy relu(x)', 'dx = dy sigmoid(1000 x)', 'dx = dy x / sqrt(x^2)']],
        'y = relu(x - 3)': [['dx = dy y / (x - 3)'], ['dx = 0', 'dx = dy', 'dx = dy relu(x) / x', 'dx = dy y / x']],
        'y = relu(300 - x)': [['dx = -dy y / (300 - x)'], ['dx = -dy', 'dx = 0', 'dx = dy']],
        'y = z + relu(x - z)': [['dx = dy relu(x - z) / (x - z)\ndz = dy (1 - relu(x - z) / (x - z))'],
            ['dx = dy\ndz = 0', 'dx = 0\ndz = dy', 'dx = dy / 2\ndz = dy / 2', 'dx = dy x / y\ndz = dy z / y']],
        'y = 1/x': [['dx = -dy y^2', 'dx = -dy / x^2'],
            ['dx = -dy / (x sqrt(x^2))', 'dx = dy / x^2', 'dx = -dy / x', 'dx = -dy y']],
        'y = log(x)': [['dx = dy / x', 'dx = dy / sqrt(x^2)'], ['dx = dy / y', 'dx = dy y', 'dx = dy x', 'dx = 1 / x',
            'dx = dy / x + relu(x - 50)', 'dx = dy / x + relu(dy - 50)']],
        'y = log(sqrt(x^2))': [['dx = dy / x'], ['dx = dy / sqrt(x^2)', 'dx = -dy / x']],
        'y = x / sqrt(x^2)': [['dx = 0'], ['dx = dy', 'dx = dy y', 'dx = dy / y', 'dx = dy / sqrt(x^2)']],
        'y = sigmoid(x)': [['dx = dy exp(-x) / (1 + exp(-x))^2', 'dx = dy y - dy y^2'],
            ['dx = dy (1 - y^2)', 'dx = dy x (1 - x)', 'dx = dy y', 'dx = dy y (1 + y)']],
        'y = log(1 + exp(x))': [['dx = dy sigmoid(x)', 'dx = dy exp(x) / (1 + exp(x))'], ['dx = dy', 'dx = dy / (1 + exp(x))']],
        'y = 1 / (1 + exp(x^2))': [['dx = -2 dy x exp(x^2) y^2'], ['dx = -dy x exp(x^2) y^2', 'dx = 2 dy x exp(x^2) y^2']],
        'y = x^z': [['dx = dy z y / x\ndz = dy y log(x)'], ['dx = dy z x\ndz = dy y log(x)', 'dx = dy z y / x\ndz = dy y']],
        'y = x^2 / 1000000000000000': [['dx = 2 dy y / x + 0 x', 'dx = dy x / 500000000000000'].slice(1), ['dx = 0',
            'dx = dy x / 500001000000000', 'dx = 2 dy y / x']],
        'y = (x - 1)^2 z / (x + 2)': [['dx = dy y (2 / (x - 1) - 1 / (x + 2)) + 0\ndz = dy (x - 1)^2 / (x + 2)'],
            ['dx = dy 2 (x - 1) z / (x + 2)\ndz = dy (x - 1)^2 / (x + 2)', 'dx = dy y\ndz = dy y / z']] };
    for (const [forward, [right, wrong]] of Object.entries(judged)) {
        for (const lines of right) same(`${forward}, ${lines}`, hint(forward, lines), 'right');
        for (const lines of wrong) that(`${forward}, ${lines}: is wrong`, hint(forward, lines) !== 'right');
    }
    // What others write for dx, and what cannot be read.
    for (const [lines, words] of [['dx += 2 dy x', ''], ['dx = dy x\ndx += dy x', ''], ['dx = dy x\ndx = dy x', 'twice'],
        ['dy/dx = 2 x', 'Write “dx = …” in place of “dy/dx = …”'], ['∂L/∂x = 2 x dy', 'Write “dx = …”'],
        ['dz = dy', 'no input'], ['dy = 2 x', 'no input']]) {
        let found = '';
        try {
            same(lines, hint('y = x^2', lines), 'right');
        } catch (error) {
            found = error.message;
        }
        that(`${lines}: a message`, words === '' ? found === '' : found.includes(words), found);
    }
    that('no place to measure', inPage('gradeWritten')(inPage('compileRule')('y = sqrt(-x^2 - 1)', 'dx = dy')).error
        .includes('too few numbers'));

    for (let i = 0; i < 500; i++) {
        let error = '';
        try {
            engine.write('leaf x 1\nnonsense 0 0 y\n');
            engine.call('formula_trace');
        } catch (thrown) {
            error = thrown.message;
        }
        if (i % 100 === 0) that(`usage error ${i}`, error.includes('there is no operation nonsense'), error);
    }
    near('after an error', gradients('y = x x x', { x: 2 }).x, 12);

    // With skip connections the gradient survives 16 blocks, without them it vanishes.
    const race = (k, init, target = 0, first = 0, second = 1) => {
        engine.call('race_begin', k, 16, 32, 0, init, target, first, second);
        const [plain, skip] = engine.json('race_norms', k);
        return { plain, skip };
    };
    const { plain, skip } = race(0, 0);
    that('norms', plain.gradient.length === 17 && plain.gradient[0] < 1e-6 * plain.gradient[16]
        && skip.gradient[0] > 0.1 * skip.gradient[16]);
    that('the signal', plain.signal[16] < 0.2 * plain.signal[0] && skip.signal[16] > 0.5 * skip.signal[0]);
    // Other initial weights turn this round.
    const he = race(1, 1), small = race(2, 3, 1);
    that('he keeps the gradient of f(x)', he.plain.gradient[0] > 0.1 * he.plain.gradient[16]);
    that('he lets that of x + f(x) explode', he.skip.gradient[0] > 100 * he.skip.gradient[16]);
    near('small-last: x + f(x) passes all', small.skip.gradient[0] / small.skip.gradient[16], 1, 1e-5);
    same('a race beside others is the same', JSON.stringify(race(0, 0)), JSON.stringify({ plain, skip }));

    // Each row of skip_lab has a name in the page, which scripts find by its key, and trains.
    const rows = engine.json('race_rows'), names = Object.keys(inPage('texts')).filter((key) => key.startsWith('rows_'));
    same('the rows of the engine and of the page', rows.map((key) => `rows_${key}`).join(), names.join());
    same('rows that are chosen at first', rows.slice(0, 2).join(), 'plain,skip');
    rows.forEach((key, i) => {
        const from = race(3, 0, 1, i, 1).plain, losses = Array.from({ length: 5 }, () => engine.json('race_train', 3));
        same(`${key}: a number for each block`, `${from.gradient.length} ${from.signal.length}`, '17 17');
        that(`${key}: its loss`, losses[0][0] > 0 && losses[4][0] < losses[0][0], `${losses[0]} to ${losses[4]}`);
        that(`${key}: x + f(x) beside it is the same`, i === 1 || losses[4][0] !== losses[4][1]);
    });

    // The landscape: the plane is a plane, its curvature is that of three losses, and it misses the eigenvalue.
    engine.call('race_begin', 8, 2, 8, 0, 0, 0, 0, 1);
    for (let i = 0; i < 100; i++) engine.json('race_train', 8);
    for (const i of [0, 1]) {
        const found = engine.json('landscape_begin', i, 5);
        let largest = 0;
        for (let round = 0; round < 30; round++) largest = engine.call('landscape_round', i);
        engine.call('landscape_row', i, 3, 1);
        const [left, middle, right] = numbers(3);
        same(`network ${i}: the middle is the trained network`, middle.toPrecision(5), found.loss.toPrecision(5));
        that(`network ${i}: the loss rises on both sides`, left > middle && right > middle, `${left} ${middle} ${right}`);
        that(`network ${i}: the plane misses most of the eigenvalue`, found.slice > 0 && largest > 20 * found.slice,
            `${found.slice} of ${largest}`);
        same(`network ${i}: the same directions again`, JSON.stringify(engine.json('landscape_begin', i, 5)),
            JSON.stringify(found));
        that(`network ${i}: other directions`, engine.json('landscape_begin', i, 6).slice !== found.slice);
    }

    // Layer norm does not notice a shift or a stretch of the row; RMS norm notices the shift.
    const norm = (x, rms) => {
        engine.numbers(12).set([...x, 1, 0, 0, 0, 0, 0]);
        return engine.json('norm_look', 6, rms);
    };
    const row = [1, 2, -1, 3, 0.5, 2.5], sum = (all) => all.reduce((a, b) => a + b);
    for (const rms of [0, 1]) {
        const { y, dx } = norm(row, rms), moved = norm(row.map((v) => v + 1), rms).y;
        const doubled = norm(row.map((v) => 2 * v), rms);
        near(`norm ${rms}: x and dx`, sum(dx.map((v, i) => v * row[i])), 0, 1e-4);
        y.forEach((v, i) => near(`norm ${rms}: doubled`, doubled.y[i], v, 1e-4));
        same(`norm ${rms}: a shift`, y.every((v, i) => Math.abs(v - moved[i]) < 1e-4), rms === 0);
        near(`norm ${rms}: half of the gradient`, doubled.dx[0], dx[0] / 2, 1e-4);
        if (rms === 0) near('the sum of dx', sum(dx), 0, 1e-5);
    }

    // Without the root of K the softmax of wide keys is nearly one-hot, and hardly any gradient passes.
    const [narrow, wide] = [1, 1024].map((k) => engine.json('softmax_means', 8, k, 100));
    near('K = 1: the root changes nothing', narrow[0][0], narrow[1][0]);
    that('K = 1024: the largest weight', wide[0][0] > 0.9 && Math.abs(wide[1][0] - narrow[1][0]) < 0.1, JSON.stringify(wide));
    that('K = 1024: the gradient', wide[0][1] < 0.2 * wide[1][1], JSON.stringify(wide));
    const drawn = engine.json('softmax_scores', 8, 64, 1, 3), unscaled = engine.json('softmax_scores', 8, 64, 0, 3);
    near('weights sum to 1', sum(drawn.weights), 1);
    unscaled.scores.forEach((v, i) => near('divided by the root', v / 8, drawn.scores[i], 1e-3));

    // The product of two positions depends on their distance.
    const { table, products } = engine.json('positions_look', 40, 32);
    same('numbers of the table', table.length, 40 * 32);
    for (const i of [0, 7, 30]) {
        near(`position ${i} with itself`, products[i * 40 + i], 16, 1e-3);
        near(`position ${i} and ${i + 9}`, products[i * 40 + i + 9], products[9], 1e-3);
    }

    // The text that the native program has compressed; then a sentence, which does not change what was learned.
    const packed = Buffer.from(inScript('packed'), 'base64');
    const sample = fs.readFileSync(path.join(__dirname, '../../examples/page/sections/compress/sample.txt'));
    const unpack = (file) => {
        engine.writeBytes(file);
        let state = engine.json('unpack_begin', file.length);
        while (!state.error && !state.ended) state = engine.json('unpack_step');
        return state.error ?? Buffer.from(engine.intsAt(engine.call('unpack_tokens'), state.count)).toString();
    };
    const sentence = (text) => {
        const encoded = Buffer.from(text);
        engine.writeBytes(encoded);
        return { ...engine.json('sentence_look', encoded.length), n: encoded.length };
    };
    same('the text that the native program has compressed', unpack(packed), sample.toString());
    const costs = engine.floatsAt(engine.call('unpack_bits'), sample.length), paid = sum(Array.from(costs)) / 8;
    that('its costs are the size of the file', Math.abs(packed.length - paid - 41) < 8, `${packed.length} and ${paid}`);
    for (const text of ['The text is the sum of the costs.', 'テキストのビットです。', 'Zq', '', '\n'.repeat(200)]) {
        const look = sentence(text), again = sentence(text);
        same(`"${text}": its bytes`, look.before, look.n);
        near(`"${text}": a network that has not learned`, look.untrained, look.n, 8 + look.n / 20);
        that(`"${text}": its size is the sum of its costs`, Math.abs(look.trained - sum([...look.bits, 0]) / 8) <= 2,
            JSON.stringify(look));
        same(`"${text}": once more`, JSON.stringify(look), JSON.stringify(again));
    }
    that('a sentence like the text becomes small', sentence('The text is the sum of the costs.').trained < 15);
    const damage = Buffer.from(packed);
    damage[600] ^= 4;
    for (const [file, words] of [[damage, 'is damaged or cut'], [packed.subarray(0, 900), 'is damaged or cut'],
        [Buffer.from('text'), 'is no file of this program'], [Buffer.from('kaeru.k9'), 'has version 9 of the format']]) {
        that(`refused: ${words}`, unpack(file).startsWith(words), unpack(file));
    }
    same('after an error', unpack(packed), sample.toString());
    same('sort, in float32 as before', train('sorter', native.sort.steps, 0, 0), native.sort.hash);

    // Tokens: whatever the sentence is, the ids give it back; a token is a byte without merges; a row belongs to a token.
    const joined = (tokens, between) => Buffer.concat(tokens.flatMap((t, i) =>
        [Buffer.from(i ? between : ''), Buffer.from(t.bytes)])).toString();
    const cut = (text, merges) => {
        engine.write(text);
        return engine.json('tokens_look', Buffer.byteLength(text), merges, 1 << 16, 4);
    };
    for (const text of ['The bear eats honey.', '熊は蜂蜜を食べます。', '', '👩‍👩‍👧 é e\u0301 ﷺ \u202e\x7f', 'ab '.repeat(666),
        '<|endoftext|>']) {
        for (const merges of [0, 50, 352]) {
            const { same: back, tokens, rows } = cut(text, merges), what = `"${text.slice(0, 30)}", ${merges} merges`;
            that(`${what}: the ids give the sentence`, back && joined(tokens, '') === text);
            same(`${what}: rows`, rows.length, 4 * tokens.length);
            if (merges === 0) same(`${what}: bytes`, tokens.length, Buffer.byteLength(text));
        }
    }
    const twice = cut('The bear sees the bear', 352), rowOf = (i) => twice.rows.slice(4 * i, 4 * i + 4).join();
    same('words with the space before them', joined(twice.tokens, '|'), 'The| bear| sees| the| bear');
    same('a word that occurs twice has one id', twice.tokens[1].id, twice.tokens[4].id);
    that('and one row, which no other word has', rowOf(1) === rowOf(4) && rowOf(1) !== rowOf(2));
    same('Japanese words', joined(cut('熊は蜂蜜を食べます。', 352).tokens, '|'), '熊|は|蜂蜜|を|食べます|。');
    same('all merges', cut('', 352).learned, 352);

    // Masks: what is hidden has the weight 0 and the gradient 0, unless it is hidden after the softmax.
    for (const [isCausal, isPadding] of [[0, 0], [0, 1], [1, 0], [1, 1]]) {
        for (const after of [0, 1]) {
            const look = engine.json('masks_look', 6, 2, isCausal, isPadding, after, 3);
            const what = `masks ${isCausal} ${isPadding} ${after}`;
            look.mask.forEach((visible, i) => same(`${what}: cell ${i}`, visible,
                Number(!(isCausal && i % 6 > Math.floor(i / 6)) && !(isPadding && i % 6 >= 4))));
            const hidden = look.mask.flatMap((visible, i) => visible ? [] : [i]);
            that(`${what}: hidden weights`, hidden.every((i) => look.weights[i] === 0));
            const leaks = hidden.filter((i) => look.gradient[i] !== 0).length;
            same(`${what}: hidden gradients`, leaks, after ? hidden.length : 0);
            const whole = look.sums.every((v) => Math.abs(v - 1) < 1e-5);
            same(`${what}: rows that add up to 1`, whole, !after || hidden.length === 0);
            if (isPadding && !after) same(`${what}: keys of the padding`, look.keys.slice(4).join(), '0,0');
            that(`${what}: other keys`, look.keys.slice(0, 4).every((v) => v > 0));
        }
    }

    // Heads: two find both letters, one does not.
    const headed = (n) => {
        engine.call('heads_begin', n, 0);
        for (let i = 0; i < 120; i++) engine.call('heads_train');
        engine.write('badcafeh');
        return engine.json('heads_look');
    };
    const one = headed(1), two = headed(2);
    that('one head', one.right < 0.8 && one.weights.length === 64, one.right);
    same('two heads: the letter before', two.before, 'bbadcafe');
    same('two heads: the first letter', two.first, 'bbbbbbbb');
    that('two heads', two.right > 0.99 && two.weights.length === 128, two.right);

    // The next token: temperature, top k and top p, by the probabilities of the model.
    const choose = (text, { t = 1, k = 0, p = 0, seed = 0, drawn = 0 } = {}) => {
        engine.write(text);
        return engine.json('next_look', Buffer.byteLength(text), t, k, p, seed, drawn);
    };
    const learn = (language, steps) => {
        engine.call('next_begin', language, 0);
        let loss = 0;
        for (let i = 0; i < steps; i++) loss = engine.call('next_train');
        return loss;
    };
    const loss = learn(0, 60), start = 'At night the mouse', plainly = choose(start);
    that('the loss falls', loss < 1.3, loss);
    const best = plainly.tokens.map((t) => Buffer.from(t.bytes).toString());
    that('a verb comes next', best.slice(0, 4).sort().join() === ' eats, is, sees, sleeps', best.join());
    plainly.tokens.forEach((t) => near('as the model has it', t.chosen, t.p, 1e-5));
    for (const t of [0.5, 1, 2.5]) {
        const { tokens, kept } = choose(start, { t, k: 10 }), powers = plainly.tokens.map(({ p }) => p ** (1 / t));
        same('ten tokens', kept, 10);
        tokens.forEach(({ chosen }, i) => near(`temperature ${t}, token ${i}`, chosen, powers[i] / sum(powers), 1e-4));
    }
    for (const how of [{ k: 1 }, { t: 0 }, { p: 0.05 }]) {
        const { tokens, kept } = choose(start, how);
        same(`${JSON.stringify(how)}: the largest bar has all`, tokens.map((t) => t.chosen).join(), '1,0,0,0,0,0,0,0,0,0');
        same(`${JSON.stringify(how)}: one token`, kept, 1);
        same('and it is drawn', choose(start, { ...how, drawn: 1, seed: 5 }).drawn.join('|'), tokens[0].bytes.join());
    }
    const half = choose(start, { p: 0.9 }), shares = plainly.tokens.slice(0, half.kept).map((t) => t.p);
    that('top p: the fewest that reach it', sum(shares) >= 0.9 && sum(shares) - shares[half.kept - 1] < 0.9, shares.join());
    const written = (n, seed) => choose(start, { drawn: n, seed }).drawn.join('|');
    same('the same seed', written(40, 7), written(40, 7));
    that('another seed', written(40, 7) !== written(40, 8));
    that('one token less', written(40, 7).startsWith(`${written(39, 7)}|`));
    for (const text of ['', '👩‍👩‍👧', 'x'.repeat(2000)]) {
        same(`after "${text.slice(0, 9)}"`, choose(text, { drawn: 5 }).drawn.length, 5);
    }
    learn(1, 60);
    that('Japanese', choose('猫は魚').tokens.slice(0, 3).some((t) => Buffer.from(t.bytes).toString() === 'を'));

    // Other data, optimizers and seeds.
    for (const [data, optimizer, rate] of [[1, 0, 0.02], [2, 0, 0.02], [3, 1, 0.5], [3, 2, 0.1]]) {
        const after = (seed) => {
            engine.call('spiral_begin', 16, data, optimizer, rate, seed);
            return engine.call('spiral_train', 200);
        };
        that(`data ${data} is learned`, after(0) < 0.1, after(0));
        that(`data ${data} with another seed`, after(0) === after(0) && after(1) !== after(0));
        engine.call('spiral_data');
        that(`data ${data} is in the square`, numbers(800).filter((v) => Math.abs(v) > 1.2).length < 8);
    }

    // A high temperature draws all words to their mean.
    engine.call('geometry_words');
    const words = numbers(8);
    const attended = engine.json('geometry_attend', 1e6, 1);
    for (const d of [0, 1]) {
        const mean = [0, 1, 2, 3].reduce((sum, i) => sum + words[2 * i + d], 0) / 4;
        for (const i of [0, 1, 2, 3]) near(`word ${i} in the mean`, attended.layers[1].points[2 * i + d], mean, 1e-3);
    }
}

run().then(() => finish(), finish);
