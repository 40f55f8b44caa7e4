// Grades the rules that a reader writes: by the slopes of the forward function, measured in double precision.

const RULE_POINTS = [[-1.7, 0.6, 0.8], [-0.9, 1.9, -1.3], [-0.3, -1.1, 0.6], [0.7, -0.4, 1.7], [1.3, 1.2, -0.5],
    [1.9, -1.6, 2.1]];                                      // x, z between -2 and 2, and dy
// A rule may differ from the slope by the first number and by twice what a larger step changes in the slope, at most by the
// second number.
const RULE_TOLERANCE = 1e-8, LARGEST_TOLERANCE = 1e-6;

// Points where the function has a value: between -2 and 2, or, if it has none there, between 0.5 and 2. Or null.
function rulePoints(value, low) {
    const inside = ([x, z, dy], from) => ({ x: from + (x + 2) / 4 * (2 - from), z: from + (z + 2) / 4 * (2 - from), dy });
    for (const from of [low, 0.5]) {
        const points = RULE_POINTS.map((p) => inside(p, from));
        if (points.every((p) => Number.isFinite(value(p)))) return { low: from, points };
    }
    return null;
}

// value(point) is y; rules.get('dx')(point) is what the reader's rule gives. Returns, for each input, rows of numbers and
// whether all of them agree.
function gradeRules(value, rules, inputs, points) {
    return inputs.map((name) => {
        const rows = points.map((point) => {
            const moved = (by) => value({ ...point, [name]: point[name] + by });
            const slope = (h) => (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
            const at = { ...point, y: value(point) }, right = point.dy * slope(1e-3);
            return { ...at, given: rules.get(`d${name}`)(at), right, error: Math.abs(right - point.dy * slope(2e-3)) };
        });
        const scale = Math.max(...rows.map((r) => Math.abs(r.right)), 1e-3);
        const error = Math.max(...rows.map((r) => r.error)) / scale;
        const tolerance = Math.min(RULE_TOLERANCE + 2 * error, LARGEST_TOLERANCE);
        const near = (a, b, least = 0) => Math.abs(a - b) <= Math.max(tolerance, least) * scale;
        rows.forEach((r) => { r.agrees = near(r.given, r.right); });
        return { name, inputs, rows, agree: rows.every((r) => r.agrees), near };
    });
}

// What probably is wrong with the rule of one input, or null. `all` are the grades of all inputs.
function ruleHint({ name, rows, near }, all) {
    const every = (test) => rows.every(test);
    if (!every((r) => Number.isFinite(r.given))) {
        const r = rows.find((one) => !Number.isFinite(one.given));
        return say('hint_not_finite', { x: show(r.x, 3) });
    }
    if (every((r) => r.given === 0)) return say('hint_zero');
    const other = all.find((g) => g.name !== name);
    if (other && every((r, i) => near(r.given, other.rows[i].right))) {
        return say('hint_exchanged', { a: `d${name}`, b: `d${other.name}` });
    }
    const factor = middle(rows.map((r) => r.given / r.right));
    if (every((r) => near(r.given, -r.right))) return say('hint_sign');
    if (every((r) => near(r.given, factor * r.right))) {
        return say('hint_factor', { factor: show(factor, Math.abs(factor - 1) < 1e-3 ? 9 : 4) });
    }
    for (const v of ['dy', 'x', 'z', 'y']) {
        if (every((r) => near(r.given * r[v], r.right))) return say('hint_missing', { v });
        if (every((r) => near(r.given, r.right * r[v]))) return say('hint_too_much', { v });
    }
    for (const v of ['dy', 'x', 'z', 'y']) {
        const c = middle(rows.map((r) => (r.given - r.right) / r[v]));
        if (every((r) => near(r.given, r.right + c * r[v]))) return say('hint_term', { term: `${show(c, 4)} ${v}` });
    }
    const c = middle(rows.map((r) => r.given - r.right));
    if (every((r) => near(r.given, r.right + c))) return say('hint_term', { term: show(c, 4) });
    const power = middle(rows.map((r) => Math.log(Math.abs(r.given / r.right)) / Math.log(Math.abs(r.dy))));
    if (every((r) => near(Math.abs(r.given), Math.abs(r.right) * Math.abs(r.dy) ** power))) return say('hint_dy_power');
    return null;
}
