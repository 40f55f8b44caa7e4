// Formulas as text: "u = w x + b; y = u tanh(u)". One parser serves the graph of a formula and the rules that readers write.

const FUNCTIONS = ['tanh', 'exp', 'log', 'sqrt', 'sigmoid', 'relu', 'sin', 'cos'];

const LONGEST_NAME = 11;                                    // the engine's formulas have another name for a longer one
const MOST_TOKENS = 400;                                    // of a statement: the parser calls itself

// Constants, unless a formula defines the name itself.
const CONSTANTS = { __proto__: null, e: Math.E, pi: Math.PI };

class FormulaError extends Error {}

function nameFor(name) {
    if (name.length > LONGEST_NAME) throw new FormulaError(say('formula_name', { name, n: LONGEST_NAME }));
    return name;
}

function tokens(text) {
    const found = [];
    const pattern = /\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)|([A-Za-z_]\w*)|(\*\*|[-+*\/^()=]))/y;
    const clean = text.replace(/[⁰¹²³⁴-⁹]+/g, (power) => `^${power}`).normalize('NFKC').replace(/[−–]/g, '-')
        .replace(/[×·]/g, '*').replace(/π/g, ' pi ').replace(/∂/g, 'd').trimEnd();
    while (pattern.lastIndex < clean.length) {
        const at = pattern.lastIndex;
        const match = pattern.exec(clean);
        if (!match) throw new FormulaError(say('formula_character', { character: [...clean.slice(at).trim()][0] }));
        if (match[1]) found.push({ kind: 'number', value: Number(match[1]), text: match[1] });
        else if (match[2]) found.push({ kind: 'name', text: nameFor(match[2]) });
        else found.push({ kind: 'mark', text: match[3] === '**' ? '^' : match[3], tight: !/^\s/.test(match[0]) });
        if (found.length > MOST_TOKENS) throw new FormulaError(say('formula_tokens', { n: MOST_TOKENS }));
    }
    return found;
}

// Parses one expression into a tree: { op, in: [..] }, { name } or { number }. Two factors side by side are a product.
function parseExpression(list) {
    let at = 0;
    const peek = () => list[at]?.text;
    const take = (text) => {
        if (peek() !== text) {
            throw new FormulaError(say('formula_expected', { wanted: text, found: peek() ?? say('formula_end') }));
        }
        at++;
    };
    const sum = () => {
        let left = product();
        while (peek() === '+' || peek() === '-') {
            const op = list[at++].text === '+' ? 'add' : 'sub';
            left = { op, in: [left, product()] };
        }
        return left;
    };
    const starts = () => list[at] && (list[at].kind !== 'mark' || list[at].text === '(');
    const product = () => {
        let left = signedFactor();
        for (;;) {
            if (peek() === '*' || peek() === '/') {
                const op = list[at++].text === '*' ? 'mul' : 'div';
                left = { op, in: [left, signedFactor()] };
            } else if (starts()) {
                left = { op: 'mul', in: [left, power()] };
            } else {
                return left;
            }
        }
    };
    const signedFactor = () => {
        if (peek() === '+') at++;
        if (peek() !== '-') return power();
        at++;
        const inner = signedFactor();
        return inner.number !== undefined ? { number: -inner.number } : { op: 'neg', in: [inner] };
    };
    const power = () => {
        const base = primary();
        if (peek() !== '^') return base;
        at++;
        return { op: 'pow', in: [base, signedFactor()] };
    };
    const primary = () => {
        const token = list[at++];
        if (!token) throw new FormulaError(say('formula_short'));
        if (token.kind === 'number') return { number: token.value };
        if (token.kind === 'name' && FUNCTIONS.includes(token.text)) {
            take('(');
            const inner = sum();
            take(')');
            return { op: token.text, in: [inner] };
        }
        // "foo(x)" is an unknown function; "u (x + 1)", "a(x + 1)" and "dy(x + 1)" are products.
        if (token.kind === 'name' && peek() === '(' && list[at].tight && !/^(d?.)$/.test(token.text)) {
            throw new FormulaError(say('formula_function', { name: token.text, list: FUNCTIONS.join(', ') }));
        }
        if (token.kind === 'name') return { name: token.text };
        if (token.text !== '(') throw new FormulaError(say('formula_unexpected', { found: token.text }));
        const inner = sum();
        take(')');
        return inner;
    };
    const tree = sum();
    if (at < list.length) throw new FormulaError(say('formula_unexpected', { found: peek() }));
    return tree;
}

// Statements "name = expression", "name += expression" (then `adds` is true) or "expression", divided by ; or line ends.
function parseStatements(text) {
    const statements = text.split(/[;\n]/).filter((s) => s.trim() && !s.trim().startsWith('#')).map((statement) => {
        const list = tokens(statement), begin = list.slice(0, 4).map((t) => t.text).join('');
        const by = /^d\w+\/d(\w+)=/.exec(begin);
        if (by) throw new FormulaError(say('formula_quotient', { found: begin.slice(0, -1), name: `d${by[1]}` }));
        const adds = list[1]?.text === '+' && list[2]?.text === '=';
        const named = list[0]?.kind === 'name' && (adds || list[1]?.text === '=');
        if (named && FUNCTIONS.includes(list[0].text)) throw new FormulaError(say('formula_taken', { name: list[0].text }));
        return { name: named ? list[0].text : null, tree: parseExpression(named ? list.slice(adds ? 3 : 2) : list), adds };
    });
    if (statements.length === 0) throw new FormulaError(say('formula_short'));
    return statements;
}

// The lines that the engine's formula_trace reads, the names of the leaves, and those of constants. `values` has the numbers of
// the leaves by name.
function compileFormula(text, values) {
    const MOST_LINES = 40;
    const statements = parseStatements(text);
    const lines = [], made = new Map(), leaves = [], constants = [];
    const varies = [];                                      // of each line: whether it depends on a leaf
    const taken = new Set(statements.map((s) => s.name));
    const spare = [...'pqrstvabcdefghijklmno'];
    const isFresh = (n) => ![n, `d${n}`].some((name) => taken.has(name) || leaves.includes(name));
    const freshName = () => spare.splice(0, spare.findIndex(isFresh) + 1).pop() ?? '-';
    const collect = (tree) => {                              // the leaves first, so that no spare name is one of them
        if (tree.name && !taken.has(tree.name)) taken.add(tree.name);
        (tree.in ?? []).forEach(collect);
    };
    statements.forEach((s) => collect(s.tree));
    const emit = (line, depends) => {
        varies.push(depends);
        if (lines.push(line) > MOST_LINES) throw new FormulaError(say('formula_long', { n: MOST_LINES }));
        return lines.length - 1;
    };
    const build = (tree, name) => {
        if (tree.number !== undefined) {
            // The engine's names have at most 23 characters.
            const digits = tree.number.toString().length < 20 ? tree.number : Number(tree.number.toPrecision(9));
            return emit(`constant ${String(digits).replace(/[^\w.-]/g, '')} ${tree.number}`, false);
        }
        if (tree.name) {
            if (!made.has(tree.name)) {
                if (statements.some((s) => s.name === tree.name)) {
                    throw new FormulaError(say('formula_order', { name: tree.name }));
                }
                if (tree.name in CONSTANTS) {
                    constants.push(tree.name);
                    made.set(tree.name, emit(`constant ${tree.name} ${CONSTANTS[tree.name]}`, false));
                } else {
                    leaves.push(tree.name);
                    made.set(tree.name, emit(`leaf ${tree.name} ${values.get(tree.name) ?? 1}`, true));
                }
            }
            return made.get(tree.name);
        }
        const [i, j = 0] = tree.in.map((inner) => build(inner));
        return emit(`${tree.op} ${i} ${j} ${name ?? freshName()}`, varies[i] || (tree.in.length > 1 && varies[j]));
    };
    statements.forEach((s, k) => {
        const last = k === statements.length - 1;
        if (!s.tree.op) throw new FormulaError(say('formula_no_operation'));
        if (s.adds) throw new FormulaError(say('formula_adds', { name: s.name }));
        if (s.name && made.has(s.name)) throw new FormulaError(say('formula_twice', { name: s.name }));
        const i = build(s.tree, s.name ?? (last && !taken.has('y') ? 'y' : undefined));
        if (s.name) made.set(s.name, i);
    });
    if (!varies[varies.length - 1]) throw new FormulaError(say('formula_no_leaf'));
    const names = lines.map((line) => line.split(' ').at(/^(leaf|constant) /.test(line) ? 1 : -1));
    const gradient = names.find((name) => name[0] === 'd' && names.includes(name.slice(1)));
    if (gradient) throw new FormulaError(say('formula_gradient', { name: gradient, of: gradient.slice(1) }));
    return { text: lines.join('\n') + '\n', leaves, constants };
}

// A function (values by name) => number from a tree, for the rules that readers write.
function evaluator(tree, names) {
    if (tree.number !== undefined) return () => tree.number;
    if (tree.name) {
        if (!names.includes(tree.name) && tree.name in CONSTANTS) return () => CONSTANTS[tree.name];
        if (!names.includes(tree.name)) throw new FormulaError(say('formula_unknown', { name: tree.name,
            list: names.join(', ') }));
        return (v) => v[tree.name];
    }
    const [a, b] = tree.in.map((inner) => evaluator(inner, names));
    const sigmoid = (x) => 1 / (1 + Math.exp(-x));
    return {
        add: (v) => a(v) + b(v), sub: (v) => a(v) - b(v), mul: (v) => a(v) * b(v), div: (v) => a(v) / b(v),
        pow: (v) => a(v) ** b(v), neg: (v) => -a(v), tanh: (v) => Math.tanh(a(v)), exp: (v) => Math.exp(a(v)),
        log: (v) => Math.log(a(v)), sqrt: (v) => Math.sqrt(a(v)), sigmoid: (v) => sigmoid(a(v)),
        relu: (v) => Math.max(0, a(v)), sin: (v) => Math.sin(a(v)), cos: (v) => Math.cos(a(v)),
    }[tree.op];
}

// Where a formula leaves the numbers: the text for the first operation of a trace without a finite result, or null.
function domainError(trace) {
    const finite = (v) => v !== null && Number.isFinite(v);
    const node = trace.ops.map((i) => trace.nodes[i]).find((n) => !finite(n.value[0])
        && n.in.every((j) => j < 0 || finite(trace.nodes[j].value[0])));
    if (!node) return null;
    const [a, b] = node.in.filter((j) => j >= 0).map((j) => trace.nodes[j].value[0]);
    const key = { sqrt: 'domain_sqrt', log: 'domain_log', div: b === 0 && 'domain_div',
        pow: (a < 0 && !Number.isInteger(b) || a === 0 && b < 0) && 'domain_pow' }[node.op] || 'domain_large';
    return say(key, { op: node.op, a: show(a), b: show(b ?? 0), name: node.symbol });
}
