// Section 2: the reader writes a backward rule, and ag_gradcheck grades it.

// forward, what is in the editor at first, a solution, and the least input. Two inputs are x and z.
const EXERCISES = [
    { forward: 'y = x^2', start: 'dx = dy x', solution: 'dx = dy 2 x', low: -2 },
    { forward: 'y = x^2 z', start: 'dx = 0\ndz = 0', solution: 'dx = dy 2 x z\ndz = dy x^2', low: -2 },
    { forward: 'y = x / z', start: 'dx = dy / z\ndz = dy / x', solution: 'dx = dy / z\ndz = -dy x / z^2', low: 0.5 },
    { forward: 'y = tanh(x)', start: 'dx = dy (1 - x^2)', solution: 'dx = dy (1 - y^2)', low: -2 },
    { forward: 'y = x sigmoid(x)', start: 'dx = dy sigmoid(x)', solution: 'dx = dy (sigmoid(x) + y (1 - sigmoid(x)))',
        low: -2 },
    { forward: 'y = sqrt(x) + log(z)', start: 'dx = dy / sqrt(x)\ndz = dy', solution: 'dx = dy / (2 sqrt(x))\ndz = dy / z',
        low: 0.5 },
];

function startRule(engine) {
    const choice = find('#rule-exercises'), forward = find('#rule-forward'), backward = find('#rule-backward');
    const verdict = find('#rule-verdict'), report = find('#rule-report');
    EXERCISES.forEach((e, i) => choice.append(element('option', { value: i }, e.forward)));
    let result = null;                                      // { agree, report } or { error }

    function begin() {
        const e = EXERCISES[choice.value];
        [forward.value, backward.value, result] = [e.forward, e.start, null];
        draw();
    }

    // The reader's formulas as one function on the engine's arrays.
    function compile() {
        const [y, ...more] = parseStatements(forward.value);
        if (y.name !== 'y' || more.length) throw new FormulaError(say('rule_needs', { name: 'y' }));
        const uses = (tree, name) => tree.name === name || (tree.in ?? []).some((t) => uses(t, name));
        const inputs = uses(y.tree, 'z') ? ['x', 'z'] : ['x'];
        const value = evaluator(y.tree, inputs);
        const rules = new Map(parseStatements(backward.value).map((s) => [s.name, evaluator(s.tree, [...inputs, 'y', 'dy'])]));
        for (const name of inputs) {
            if (!rules.has(`d${name}`)) throw new FormulaError(say('rule_needs', { name: `d${name}` }));
        }
        return {
            inputs: inputs.length,
            run({ n, x, z, y: out, dy, dx, dz }) {
                for (let i = 0; i < n; i++) {
                    const at = { x: x[i], z: z?.[i], y: out[i], dy: dy?.[i] };
                    if (!dy) out[i] = value(at);
                    if (dx) dx[i] += rules.get('dx')(at);   // it adds: x may be used elsewhere, too
                    if (dz) dz[i] += rules.get('dz')(at);
                }
            },
        };
    }

    function check() {
        try {
            const rule = compile();
            engine.rule = rule.run;
            const agree = Boolean(engine.call('rule_check', rule.inputs, EXERCISES[choice.value].low));
            result = { agree, report: engine.printed() };
        } catch (error) {
            if (!(error instanceof FormulaError || error instanceof EngineError)) throw error;
            result = { error: error.message };
        }
        draw();
    }

    function draw() {
        report.hidden = !result?.report || result.agree;
        report.textContent = result?.report ?? '';
        verdict.className = 'words';
        verdict.textContent = '';
        if (!result) return;
        verdict.classList.add(result.agree ? 'good' : 'bad');
        verdict.textContent = result.error ?? say(result.agree ? 'rule_right' : 'rule_wrong');
    }

    for (const area of [forward, backward]) {
        area.addEventListener('keydown', (event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) check();
        });
    }
    choice.addEventListener('change', begin);
    find('#rule-check').addEventListener('click', check);
    find('#rule-answer').addEventListener('click', () => {
        forward.value = EXERCISES[choice.value].forward;
        backward.value = EXERCISES[choice.value].solution;
        check();
    });
    begin();
    onLanguage(draw);
}
