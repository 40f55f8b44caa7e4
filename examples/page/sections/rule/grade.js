// Grades the rules that a reader writes: by the slopes of the forward function, measured in double precision.

// A rule may differ from the slope by this, and by twice the error of the measurement.
const RULE_TOLERANCE = 1e-8;
// A slope counts if it is known to this part of itself and of the function's values.
const LARGEST_ERROR = 1e-6;
const LEAST_POINTS = 6;                                     // the library's check takes so many

// The formulas as functions and trees: { inputs: ['x'], value, rules, trees, forward }.
function compileRule(formula, written) {
    const [y, ...more] = parseStatements(formula);
    if (y.name !== 'y' || y.adds || more.length) throw new FormulaError(say('rule_one'));
    const inputs = usesName(y.tree, 'z') ? ['x', 'z'] : ['x'];
    const trees = new Map();
    for (const { name, tree, adds } of parseStatements(written)) {
        if (!inputs.some((input) => name === `d${input}`)) throw new FormulaError(say('rule_extra', { name: name ?? '=' }));
        const before = trees.get(name);
        if (before && !adds) throw new FormulaError(say('formula_twice', { name }));
        trees.set(name, before ? { op: 'add', in: [before, tree] } : tree);
    }
    for (const name of inputs) {
        if (!trees.has(`d${name}`)) throw new FormulaError(say('rule_needs', { name: `d${name}` }));
    }
    const rules = new Map([...trees].map(([name, tree]) => [name, evaluator(tree, [...inputs, 'y', 'dy'])]));
    return { inputs, value: evaluator(y.tree, inputs), rules, trees, forward: y.tree };
}

const usesName = (tree, name) => tree.name === name || (tree.in ?? []).some((t) => usesName(t, name));
const allParts = (tree) => [tree, ...(tree.in ?? []).flatMap(allParts)];

// By what an error `a` of u, and `b` of v, changes an operation with the result y.
const SPREADS = {
    add: (u, v, y, a, b) => a + b, sub: (u, v, y, a, b) => a + b, mul: (u, v, y, a, b) => Math.abs(v) * a + Math.abs(u) * b,
    div: (u, v, y, a, b) => (a + Math.abs(y) * b) / Math.abs(v),
    pow: (u, v, y, a, b) => Math.abs(y) * ((a && Math.abs(v) * a / Math.abs(u)) + (b && Math.abs(Math.log(Math.abs(u))) * b)),
    neg: (u, v, y, a) => a, exp: (u, v, y, a) => y * a, log: (u, v, y, a) => a / Math.abs(u), sin: (u, v, y, a) => a,
    sqrt: (u, v, y, a) => a && a / (2 * y), tanh: (u, v, y, a) => (1 - y * y) * a, sigmoid: (u, v, y, a) => y * (1 - y) * a,
    relu: (u, v, y, a) => (u < -a ? 0 : a), cos: (u, v, y, a) => a,
};

// A function (point) => how far rounding may move the value of the tree there.
function roundingOf(tree, inputs) {
    if (!tree.op) return () => 0;
    const [of, [u, v = () => 0]] = [evaluator(tree, inputs), tree.in.map((inner) => evaluator(inner, inputs))];
    const [a, b = () => 0] = tree.in.map((inner) => roundingOf(inner, inputs));
    return (p) => SPREADS[tree.op](u(p), v(p), of(p), a(p), b(p)) + Number.EPSILON * Math.abs(of(p));
}

// The slope of f at `at` and its error; NaN for both where f has no slope. The best of several steps is taken: each one's error
// is its difference from a step half as large, and what the rounding of f makes of it.
function slopeOf(f, at, rounding) {
    let best = { slope: NaN, error: Infinity };
    const central = (h) => (8 * (f(at + h) - f(at - h)) - (f(at + 2 * h) - f(at - 2 * h))) / (12 * h);
    for (const h of [1e-2, 1e-3, 1e-4, 1e-5]) {
        const slope = central(h), error = Math.abs(slope - central(h / 2)) + 3 * rounding / h;
        if (error < best.error) best = { slope, error };
    }
    const most = LARGEST_ERROR * (Math.abs(best.slope) + Math.max(Math.abs(f(at + 1e-2)), Math.abs(f(at - 1e-2))));
    // At a corner, the slopes to the left and to the right do not come closer with a smaller step.
    const corner = (h) => Math.abs(f(at + h) - 2 * f(at) + f(at - h)) / h;
    const isSmooth = corner(1e-5) <= corner(1e-3) / 2 + most;
    return isSmooth && best.error <= most ? best : { slope: NaN, error: NaN };
}

// Points spread over what a reader may try: most between -2 and 2, others between -10 and 10, some far away.
function spreadPoints() {
    const part = (k, share) => k * share % 1, rounded = (v) => Math.round(100 * v) / 100;
    const points = [];
    for (let k = 1; k <= 64; k++) {
        const most = k <= 40 ? 2 : 10, dy = part(k, 0.8191725) - 0.5;
        const [x, z] = [0.7548777, 0.5698403].map((share) => rounded(most * (2 * part(k, share) - 1)));
        points.push({ x, z, dy: rounded(Math.sign(dy) * 0.5 + 3.2 * dy) });
    }
    points.push({ x: 0, z: 0.7, dy: 1.3 }, { x: 0.7, z: 0, dy: -0.8 }, { x: 0, z: 0, dy: 0.6 });
    [12, 18, 30, 45, 70, 100].forEach((r, i) => {
        for (const sign of [1, -1]) {
            points.push({ x: sign * r, z: (i % 2 ? sign : -sign) * r * 1.1, dy: 1.7 - 0.3 * i, far: true });
        }
    });
    return points;
}

// What a formula of these functions does can change at once only where a part of it is 0: the argument of a relu, the square in
// sqrt(x^2), a denominator. Points on both sides of each such place, of the forward formula and of the rules.
function pointsAtZeros({ inputs, value, forward, trees }) {
    const found = [], names = [...inputs, 'y', 'dy'];
    const positive = [0.0917, 0.4871, 1.0913, 2.1147, 4.8731, 9.7139, 31.173, 97.319, 1019.7];    // seldom a zero themselves
    const places = [...positive.map((v) => -v).reverse(), ...positive];
    const bases = [{ x: 0.7, z: 0.9, dy: 1.1 }, { x: -0.6, z: 1.3, dy: -0.7 }, { x: 1.4, z: -0.8, dy: 0.9 }];
    const parts = new Map([forward, ...trees.values()].flatMap(allParts).filter((t) => t.name || t.in)
        .map((t) => [formulaText(t), t]));
    for (const tree of parts.values()) {
        const part = evaluator(tree, names);
        for (const name of [...inputs, 'dy']) {
            if (!usesName(tree, name) && !usesName(tree, 'y')) continue;
            for (const base of bases) {
                const at = (v) => ({ ...base, [name]: v });
                const sign = (v) => Math.sign(part({ ...at(v), y: value(at(v)) }));
                for (let i = 1; i < places.length; i++) {
                    let [low, high] = [places[i - 1], places[i]];
                    const before = sign(low);
                    if (!(sign(high) * before < 0)) continue;
                    for (let k = 0; k < 50; k++) {
                        const half = (low + high) / 2;
                        if (sign(half) === before) low = half;
                        else high = half;
                    }
                    const gap = 0.05 * Math.max(1, Math.abs(low));
                    found.push(at(low - gap), at(low + gap));
                }
            }
        }
    }
    return found;
}

// The places where a rule is graded: where the forward function has a value and a slope by each input. Far away a rule that
// leaves the numbers, as e^x does, is not held against it. Null if there are too few.
function rulePoints(rule) {
    const { inputs, value, rules, forward } = rule, rounding = roundingOf(forward, inputs);
    const points = [...spreadPoints(), ...pointsAtZeros(rule)].map((p) => {
        const slopes = Object.fromEntries(inputs.map((name) => [name,
            slopeOf((v) => value({ ...p, [name]: v }), p[name], rounding(p))]));
        return { ...p, y: value(p), slopes };
    }).filter((p) => Number.isFinite(p.y) && inputs.every((name) => Number.isFinite(p.slopes[name].slope))
        && (!p.far || [...rules.values()].every((given) => Number.isFinite(given(p)))));
    return points.length < LEAST_POINTS ? null : points;
}

// Returns, for each input, rows of numbers and whether all of them agree.
function gradeRules({ inputs, rules, trees }, points) {
    return inputs.map((name) => {
        const scale = Math.max(...points.map((p) => Math.abs(p.slopes[name].slope)));
        const rows = points.map((p) => {
            const { slope, error } = p.slopes[name], right = p.dy * slope;
            const tolerance = RULE_TOLERANCE * Math.abs(right) + Math.abs(p.dy) * (2 * error + 1e-12 * scale);
            return { ...p, given: rules.get(`d${name}`)(p), right, tolerance };
        });
        // Whether two numbers of a row are equal; `b` may be a multiple of the right one.
        const near = (r, a, b, least = 0) => {
            const times = Math.min(Math.max(Math.abs(b / r.right) || 0, 1), 1e4);
            return Math.abs(a - b) <= Math.max(times * r.tolerance, least * Math.abs(r.right));
        };
        rows.forEach((r) => { r.agrees = near(r, r.given, r.right); });
        return { name, inputs, rows, tree: trees.get(`d${name}`), rule: rules.get(`d${name}`),
            agree: rows.every((r) => r.agrees), near };
    });
}

// `n` of a list, evenly.
const someOf = (list, n) => (list.length <= n ? list : Array.from({ length: n }, (_, i) =>
    list[Math.round(i * (list.length - 1) / (n - 1 || 1))]));

// `n` rows to look at, near 0: some that agree and some that do not.
function rowsToShow({ rows }, n) {
    const near = rows.filter((r) => [r.x, r.z].every((v) => v !== 0 && Math.abs(v) <= 2));
    const wrongIn = (all) => all.filter((r) => !r.agrees).sort((a, b) => a.x - b.x);
    const right = near.filter((r) => r.agrees).sort((a, b) => a.x - b.x), wrong = wrongIn(wrongIn(near).length ? near : rows);
    const wrongOnes = someOf(wrong, Math.max(Math.ceil(n / 2), n - right.length));
    return [...wrongOnes, ...someOf(right, n - wrongOnes.length)].sort((a, b) => a.x - b.x);
}

// Six points for the library's check, whose step is 0.01: near 0, and where the slopes around a point are alike.
function pointsForLibrary({ inputs, value }, points) {
    const change = (p) => Math.max(...inputs.map((name) => {
        const f = (v) => value({ ...p, [name]: v }), h = 0.02;
        return Math.abs((f(p[name] + h) - f(p[name] - h)) / (2 * h) - p.slopes[name].slope)
            / (Math.abs(p.slopes[name].slope) + 1e-3);
    }));
    const size = (p) => Math.max(...inputs.map((name) => Math.abs(p[name]))) <= 2 ? 0 : 1;
    const gentle = points.map((p) => ({ p, order: size(p) + (change(p) < 0.02 ? 0 : 2) + Math.min(change(p) || 0, 1) }))
        .sort((a, b) => a.order - b.order).map(({ p }) => p);
    return someOf(gentle.slice(0, Math.max(LEAST_POINTS, Math.floor(gentle.length / 3))), LEAST_POINTS);
}

// What probably is wrong with the rule of one input, or null. `others` are the grades of the other inputs, in the same places.
function ruleHint({ name, inputs, rows, near, tree }, others) {
    const every = (test) => rows.every(test);
    const ratio = (of) => middle(rows.map(of).filter(Number.isFinite));
    if (every((r) => r.given === 0)) return say('hint_zero');
    const [other] = others;
    if (other && every((r, i) => near(r, r.given, other.rows[i].right))) {
        return say('hint_exchanged', { a: `d${name}`, b: `d${other.name}` });
    }
    const factor = ratio((r) => r.given / r.right);
    if (every((r) => near(r, r.given, -r.right))) return say('hint_sign');
    if (every((r) => near(r, r.given, factor * r.right))) {
        return say('hint_factor', { factor: show(factor, Math.abs(factor - 1) < 1e-3 ? 9 : 4) });
    }
    const names = ['dy', ...inputs, 'y'], written = names.filter((v) => usesName(tree, v));
    for (const v of names) {
        if (every((r) => near(r, r.given * r[v], r.right))) return say('hint_missing', { v });
        if (written.includes(v) && every((r) => near(r, r.given, r.right * r[v]))) return say('hint_too_much', { v });
    }
    for (const v of written) {
        const c = ratio((r) => (r.given - r.right) / r[v]);
        if (every((r) => near(r, r.given, r.right + c * r[v]))) return say('hint_term', { term: `${show(c, 4)} ${v}` });
    }
    const c = ratio((r) => r.given - r.right);
    if (every((r) => near(r, r.given, r.right + c))) return say('hint_term', { term: show(c, 4) });
    return null;
}

// What to say about a wrong grade, or null. Where the rule has no numbers says less than where its numbers are wrong.
function hintFor(grade, all, forward) {
    const isFinite = grade.rows.map((r) => Number.isFinite(r.given)), lost = grade.rows[isFinite.indexOf(false)];
    const [there, ...others] = [grade, ...all.filter((g) => g !== grade)]
        .map((g) => ({ ...g, rows: g.rows.filter((_, i) => isFinite[i]) }));
    const found = there.rows.every((r) => r.agrees) ? null : ruleHint(there, others) ?? repairHint(forward, there);
    if (found) return found;
    if (lost) {
        const at = all.map(({ name }) => `${name} = ${show(lost[name], 3)}`);
        return say('hint_not_finite', { at: at.join(say('and_then')) });
    }
    return isNotProportional(there) ? say('hint_dy') : null;
}

// Grades what a reader has written: { error } or { wrong: grades, hints: [[input, hint]], six }.
function gradeWritten(rule) {
    const points = rulePoints(rule);
    if (!points) return { error: say('rule_domain') };
    const grades = gradeRules(rule, points), wrong = grades.filter((g) => !g.agree);
    return { wrong, n: points.length, six: pointsForLibrary(rule, points),
        hints: wrong.map((g) => [g.name, hintFor(g, grades, rule.forward)]) };
}
