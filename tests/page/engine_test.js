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
for (const name of ['texts.js', 'language.js', 'engine.js', 'formula.js']) {
    const file = path.join(__dirname, '../../examples/page/scripts', name);
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
    engine.call('spiral_begin', 64);
    engine.call('spiral_train', 100);
    same('sort', train('sorter', native.sort.steps, 0), native.sort.hash);
    engine.call('spiral_train', native.spiral.steps - 100);
    engine.call('spiral_hash');
    same('spiral', JSON.parse(engine.printed()), native.spiral.hash);
    same('reverse', train('sorter', native.reverse.steps, 1), native.reverse.hash);
    engine.write('271828');
    const look = engine.json('sorter_look');
    same('what it writes', look.output.join(''), '828172');
    for (const row of [0, 1, 2, 3, 4, 5]) {
        for (const map of ['encoder', 'decoder', 'source']) near(`${map}: row ${row}`, look[map].slice(6 * row, 6 * row + 6)
            .reduce((a, b) => a + b), 1);
        that(`row ${row} reads from the other end`, look.source[6 * row + 5 - row] > 0.8, look.source[6 * row + 5 - row]);
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
        '1 + 2', 'y = longername12 + 1']) {
        let message = '';
        try {
            inPage('compileFormula')(bad, new Map());
        } catch (error) {
            message = error.constructor.name === 'FormulaError' ? error.message : '';
        }
        that(`refused: "${bad}"`, message !== '' && !message.includes('{'), message);
    }

    // Every exercise: its first rule is wrong, its solution is right. A usage error leaves the engine usable.
    const rules = fs.readFileSync(path.join(__dirname, '../../examples/page/scripts/rule.js'), 'utf8')
        .match(/^const EXERCISES = [^]*?^];/m)[0];
    vm.runInContext(rules.replace('const', 'var'), context);
    const graded = (e, lines) => {
        const [y] = inPage('parseStatements')(e.forward);
        const inputs = e.forward.includes('z') ? ['x', 'z'] : ['x'], evaluate = inPage('evaluator');
        const value = evaluate(y.tree, inputs);
        const given = new Map(inPage('parseStatements')(lines).map((s) => [s.name, evaluate(s.tree, [...inputs, 'y', 'dy'])]));
        engine.rule = ({ n, x, z, y: out, dy, dx, dz }) => {
            for (let i = 0; i < n; i++) {
                const at = { x: x[i], z: z?.[i], y: out[i], dy: dy?.[i] };
                if (!dy) out[i] = value(at);
                if (dx) dx[i] += given.get('dx')(at);
                if (dz) dz[i] += given.get('dz')(at);
            }
        };
        return Boolean(engine.call('rule_check', inputs.length, e.low));
    };
    for (const e of inPage('EXERCISES')) {
        that(`${e.forward}: the first rule is wrong`, !graded(e, e.start));
        that(`${e.forward}: the solution is right`, graded(e, e.solution), engine.printed());
    }
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
    engine.call('race_begin', 16, 32, 0);
    const norms = engine.json('race_norms');
    that('norms', norms.plain.length === 17 && norms.plain[0] < 1e-6 * norms.plain[16] && norms.skip[0] > 0.1 * norms.skip[16]);

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
