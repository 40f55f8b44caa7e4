// Looks for the one place where a rule is wrong: each change of one place is tried until the rule agrees.

const OPERATORS = { add: ['+', 1], sub: ['−', 1], mul: ['', 2], div: ['/', 2], neg: ['−', 2], pow: ['^', 3] };  // rank

// A tree as text.
function formulaText(tree) {
    if (tree.number !== undefined) return show(tree.number, 7);
    if (tree.name) return tree.name;
    const [sign, rank] = OPERATORS[tree.op] ?? [];
    if (!rank) return `${tree.op}(${formulaText(tree.in[0])})`;
    const part = (inner, least) => {
        const weak = (OPERATORS[inner.op]?.[1] ?? 4) < least || inner.number < 0;
        return weak ? `(${formulaText(inner)})` : formulaText(inner);
    };
    if (tree.op === 'neg') return `−${part(tree.in[0], 3)}`;
    const [left, right] = [part(tree.in[0], tree.op === 'pow' ? 4 : rank), part(tree.in[1], rank === 1 ? 2 : rank + 1)];
    return tree.op === 'pow' ? `${left}^${right}` : `${left} ${sign}${sign ? ' ' : ''}${right}`;
}

const treeOf = (op, ...inner) => ({ op, in: inner });
const treeNumber = (n) => ({ number: n });

// The derivative of a function by its argument u.
const DERIVATIVES = {
    tanh: (u) => treeOf('sub', treeNumber(1), treeOf('pow', treeOf('tanh', u), treeNumber(2))), exp: (u) => treeOf('exp', u),
    log: (u) => treeOf('div', treeNumber(1), u), sqrt: (u) => treeOf('div', treeNumber(0.5), treeOf('sqrt', u)),
    sigmoid: (u) => treeOf('mul', treeOf('sigmoid', u), treeOf('sub', treeNumber(1), treeOf('sigmoid', u))),
    sin: (u) => treeOf('cos', u), cos: (u) => treeOf('neg', treeOf('sin', u)),
};

// The trees in which the exponent of a power stands one place further inside or outside: (1 − y)^2 and 1 − y^2.
function movedExponents(tree) {
    const replaced = (t, i, part) => ({ ...t, in: t.in.map((inner, k) => (k === i ? part : inner)) });
    const [base, exponent] = tree.in ?? [];
    if (tree.op === 'pow') return (base.in ?? []).map((inner, i) => replaced(base, i, treeOf('pow', inner, exponent)));
    return (tree.in ?? []).flatMap((inner, i) => (inner.op === 'pow'
        ? [treeOf('pow', replaced(tree, i, inner.in[0]), inner.in[1])] : []));
}

// What may stand in the place of a tree: [tree, hint, what the hint says]. `parts`: trees that may stand for a name, or be a
// missing factor. `term`: whether the tree is a term of a sum.
function replacements(tree, parts, term) {
    const part = formulaText(tree), [a, b] = tree.in ?? [], found = [];
    const add = (changed, hint, values = { part }) => found.push([changed, hint, values]);
    const opposite = { add: 'sub', sub: 'add', mul: 'div', div: 'mul' }[tree.op];
    if (tree.op === 'add' || tree.op === 'sub') {
        add(treeOf(opposite, a, b), 'repair_sign');
        add(treeOf('mul', a, b), 'repair_product');
        add(a, 'repair_extra', { part: formulaText(b) });
        add(b, 'repair_extra', { part: formulaText(a) });
    } else if (opposite) {
        add(treeOf(opposite, a, b), tree.op === 'mul' ? 'repair_divide' : 'repair_multiply', { part: formulaText(b) });
        add(a, 'repair_extra', { part: formulaText(b) });
        if (tree.op === 'mul') add(b, 'repair_extra', { part: formulaText(a) });
    }
    if (tree.name && tree.name !== 'dy') {
        for (const other of parts) add(other, 'repair_name');
    }
    if (tree.name) add(treeOf('pow', tree, treeNumber(2)), 'repair_square');
    if (tree.op === 'pow') add(treeOf('mul', a, b), 'repair_not_power');
    if (tree.op === 'pow' && b.number !== undefined) {
        for (const power of [b.number - 1, b.number + 1, -b.number]) add(treeOf('pow', a, treeNumber(power)), 'repair_power');
    }
    for (const moved of movedExponents(tree)) add(moved, 'repair_exponent');
    if (tree.number !== undefined) {
        const n = tree.number;
        for (const other of [n - 1, n + 1, n * 2, n / 2]) add(treeNumber(other), 'repair_number');
    }
    if (tree.op in DERIVATIVES) add(DERIVATIVES[tree.op](a), 'repair_derivative');
    if (a && !b && tree.op !== 'neg') add(a, 'repair_function', { part: tree.op });
    for (const factor of term ? parts : []) add(treeOf('mul', tree, factor), 'repair_factor', { part, v: formulaText(factor) });
    if (term) add(treeOf('neg', tree), 'repair_sign');
    add(treeOf('sub', treeNumber(1), tree), 'repair_one');
    add(treeOf('add', treeNumber(1), tree), 'repair_one');
    return found;
}

// All trees that differ from one in a single place.
function* repairs(tree, parts, term = true) {
    yield* replacements(tree, parts, term);
    for (const [i, inner] of (tree.in ?? []).entries()) {
        for (const [changed, ...hint] of repairs(inner, parts, tree.op === 'add' || tree.op === 'sub')) {
            yield [{ ...tree, in: tree.in.map((t, k) => (k === i ? changed : t)) }, ...hint];
        }
    }
}

// The tree with another name in each place where `name` stands, and how many places there are: [tree, count].
function separate(tree, name) {
    let count = 0;
    const walk = (t) => (t.name === name ? { name: `${name}${count++}` } : t.in ? { ...t, in: t.in.map(walk) } : t);
    return [walk(tree), count];
}

// Whether these are the gradients through only some of the places where an input stands in the forward function.
function someUses(forward, { name, rows, near }) {
    const [tree, count] = separate(forward, name), names = [...'xz', ...Array.from({ length: count }, (_, k) => `${name}${k}`)];
    if (count < 2 || count > 4) return null;
    const value = evaluator(tree, names), h = 1e-4;
    for (let uses = 1; uses < 2 ** count - 1; uses++) {
        const moved = (r, by) => value({ ...r, ...Object.fromEntries(Array.from({ length: count },
            (_, k) => [`${name}${k}`, r[name] + (uses >> k & 1 ? by : 0)])) });
        if (rows.every((r) => near(r, r.given, r.dy * (moved(r, h) - moved(r, -h)) / (2 * h), 1e-5))) {
            return say('repair_uses', { v: name, n: count });
        }
    }
    return null;
}

// Whether the rule is c times a product of powers too large: that product as text, or null.
function wrongFactor({ rows, inputs, near }) {
    const powers = [-3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3];
    let best = null;
    for (const a of powers) {
        for (const b of inputs.includes('z') ? powers : [0]) {
            for (const c of [-1, 0, 1]) {
                const product = (r) => r.x ** a * (r.z ?? 1) ** b * r.dy ** c, size = Math.abs(a) + Math.abs(b) + Math.abs(c);
                const factor = middle(rows.map((r) => r.given / r.right / product(r)).filter(Number.isFinite));
                if ((!best || size < best.size) && rows.every((r) => r.x === 0 || r.z === 0
                    || near(r, r.given, factor * product(r) * r.right))) {
                    best = { size, factor, powers: { x: a, z: b, dy: c } };
                }
            }
        }
    }
    if (!best) return null;
    const names = Object.entries(best.powers).filter(([, p]) => p !== 0).map(([v, p]) => (p === 1 ? v : `${v}^${show(p)}`));
    if (Math.abs(best.factor - 1) > 1e-6) names.unshift(show(best.factor));
    return say('repair_times', { product: names.join(' ') });
}

// The derivatives that are known by the function's result y.
const BY_RESULT = { tanh: (y) => 1 - y * y, sigmoid: (y) => y * (1 - y), sqrt: (y) => 0.5 / y };

// The rule with another name in each place of one name.
const renamed = (tree, from, to) => (tree.name === from ? { name: to }
    : tree.in ? { ...tree, in: tree.in.map((t) => renamed(t, from, to)) } : tree);

// Whether the rule is that of another function: the text, or null.
function ruleOfOther(forward, { rows, near }) {
    const other = Object.keys(BY_RESULT).find((f) => f !== forward.op
        && rows.every((r) => near(r, r.given, r.dy * BY_RESULT[f](r.y))));
    return other ? say('repair_other', { f: other }) : null;
}

// Whether the rule is right with another name in all places of one: the text, or null.
function wrongName({ inputs, tree }, right) {
    const names = [...inputs, 'y'];
    const found = names.find((from) => usesName(tree, from)
        && names.some((to) => to !== from && right(evaluator(renamed(tree, from, to), [...names, 'dy']))));
    return found ? say('repair_name', { part: found }) : null;
}

// Whether the rule does not double with dy.
function isNotProportional({ rows, rule }) {
    return rows.some((r) => {
        const doubled = rule({ ...r, dy: 2 * r.dy });
        return Math.abs(doubled - 2 * r.given) > 1e-6 * (Math.abs(doubled) + Math.abs(r.given));
    });
}

// What is wrong with a rule if one change makes it right, or if it is right in some way. `forward` is the tree of the forward
// formula. Null if nothing is found.
function repairHint(forward, grade) {
    const { rows, inputs, near, name, tree } = grade, names = [...inputs, 'y', 'dy'];
    const parts = [...names.map((v) => ({ name: v })), ...allParts(forward).filter((t) => t.op)];
    const right = (rule) => rows.every((r) => near(r, rule(r), r.right));
    const other = ruleOfOther(forward, grade);
    if (other) return other;
    for (const [changed, hint, values] of repairs(tree, parts)) {
        if (right(evaluator(changed, names))) return say(hint, values);
    }
    const found = wrongName(grade, right) ?? someUses(forward, grade) ?? wrongFactor(grade);
    if (found) return found;
    for (const part of [{ name }, ...parts]) {
        const of = evaluator(part, names);
        for (const [key, sign] of [['repair_negative', 1], ['repair_positive', -1]]) {
            const wrongThere = rows.every((r) => r.agrees || sign * of(r) < 0);
            if (wrongThere && rows.some((r) => r.agrees && sign * of(r) > 0)) return say(key, { v: formulaText(part) });
        }
    }
    return null;
}
