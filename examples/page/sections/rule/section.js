// The reader writes a backward rule, and two checks grade it.

// forward, what is in the editor at first, and a solution. Two inputs are x and z.
const EXERCISES = [
    { forward: 'y = x^2', start: 'dx = dy x', solution: 'dx = dy 2 x' },
    { forward: 'y = x^2 z', start: 'dx = 0\ndz = 0', solution: 'dx = dy 2 x z\ndz = dy x^2' },
    { forward: 'y = x / z', start: 'dx = dy / z\ndz = dy / x', solution: 'dx = dy / z\ndz = -dy x / z^2' },
    { forward: 'y = tanh(x)', start: 'dx = dy (1 - x^2)', solution: 'dx = dy (1 - y^2)' },
    { forward: 'y = x sigmoid(x)', start: 'dx = dy sigmoid(x)', solution: 'dx = dy (sigmoid(x) + y (1 - sigmoid(x)))' },
    { forward: 'y = sqrt(x) + log(z)', start: 'dx = dy / sqrt(x)\ndz = dy', solution: 'dx = dy / (2 sqrt(x))\ndz = dy / z' },
];

// The rule as one function on the engine's arrays.
const inEngine = ({ value, rules }) => ({ n, x, z, y: out, dy, dx, dz }) => {
    for (let i = 0; i < n; i++) {
        const at = { x: x[i], z: z?.[i], y: out[i], dy: dy?.[i] };
        if (!dy) out[i] = value(at);
        if (dx) dx[i] += rules.get('dx')(at);               // it adds: x may be used elsewhere, too
        if (dz) dz[i] += rules.get('dz')(at);
    }
};

// Two judges: slopes in double precision, which find an error of one millionth, and the library's check with floats.
function gradeInEngine(engine, rule) {
    const result = gradeWritten(rule);
    if (result.error) return result;
    engine.rule = inEngine(rule);
    engine.numbers(2 * LEAST_POINTS).set(['x', 'z'].flatMap((name) => result.six.map((p) => p[name])));
    return { ...result, library: Boolean(engine.call('rule_check', rule.inputs.length)) };
}

function startRule(engine) {
    const choice = find('#rule-exercises'), forward = find('#rule-forward'), backward = find('#rule-backward');
    const verdict = find('#rule-verdict'), report = find('#rule-report');
    EXERCISES.forEach((e, i) => choice.append(element('option', { value: i }, e.forward)));
    let check = () => null;                                  // grades the rules that were checked last; again in each language

    function begin() {
        const e = EXERCISES[choice.value];
        [forward.value, backward.value, check] = [e.forward, e.start, () => null];
        draw();
    }

    function draw() {
        let result;
        try {
            result = check();
        } catch (error) {
            if (!(error instanceof FormulaError || error instanceof EngineError)) throw error;
            result = { error: error.message };
        }
        const wrong = result?.wrong ?? [];
        report.hidden = wrong.length === 0;
        report.innerHTML = wrong.map((grade) => table(grade, lecture && wrong.length > 1 ? 3 : 6)).join('');
        verdict.className = 'words';
        verdict.textContent = '';
        if (!result) return;
        const right = !result.error && wrong.length === 0;
        verdict.classList.add(right ? 'good' : 'bad');
        const hints = (result.hints ?? []).filter(([, hint]) => hint).map(([name, hint]) => `d${name}: ${hint}`);
        verdict.textContent = result.error ?? (right ? say(result.library ? 'rule_right' : 'rule_steep', { n: result.n })
            : [say('rule_wrong'), ...hints].join(' '));
    }

    function table(grade, rows) {
        const { name, inputs } = grade;
        const head = [...inputs, 'dy', say('rule_yours', { name: `d${name}` }), say('rule_measured'), say('rule_ratio')];
        const line = (r) => [...inputs.map((v) => r[v]), r.dy, r.given, r.right, r.given / r.right]
            .map((v) => `<td>${show(v, 5)}</td>`).join('');
        return `<thead><tr>${head.map((h) => `<th scope="col">${h}</th>`).join('')}</tr></thead><tbody>`
            + rowsToShow(grade, rows).map((r) => `<tr class="${r.agrees ? '' : 'bad'}">${line(r)}</tr>`).join('') + '</tbody>';
    }

    const press = () => {
        const written = [forward.value, backward.value];
        check = () => gradeInEngine(engine, compileRule(...written));
        draw();
        if (lecture) showPlace();                           // what is wrong is on a slide of its own
        noteChange();
    };
    for (const area of [forward, backward]) {
        area.addEventListener('keydown', (event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) press();
        });
    }
    choice.addEventListener('change', begin);
    find('#rule-check').addEventListener('click', press);
    find('#rule-answer').addEventListener('click', () => {
        forward.value = EXERCISES[choice.value].forward;
        backward.value = EXERCISES[choice.value].solution;
        press();
    });
    const exercise = keep('exercise', '0', () => choice.value);
    choice.value = exercise ?? '0';
    if (choice.selectedIndex < 0) choice.value = '0';
    begin();
    for (const [name, area, first] of [['forward', forward, 'forward'], ['backward', backward, 'start']]) {
        area.value = keep(name, null, () => area.value === EXERCISES[choice.value][first] ? null : area.value) ?? area.value;
    }
    onLanguage(draw, find('#rule'));
}
