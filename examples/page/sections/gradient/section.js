// The graph of a formula, forward and backward, one operation at a time.

const FORMULAS = [
    ['u = w x + b; y = u tanh(u)', { w: 0.5, x: 3, b: -1 }],
    ['y = x x x', { x: 2 }],
    ['b = a + a; c = b + b', { a: 1 }],
    ['z = w1 x1 + w2 x2 + b; p = sigmoid(z); loss = (p - t)^2', { w1: 1, x1: 0.5, w2: -2, x2: 0.8, b: 0.1, t: 1 }],
    ['r = sqrt(x^2 + z^2); y = exp(-r)', { x: 0.6, z: -0.8 }],
    ['y = relu(x) + relu(-x)', { x: -1.5 }],
];

function startGradient(engine) {
    const input = find('#formula'), choice = find('#formula-examples'), complaint = find('#formula-error');
    const note = find('#formula-note'), figure = find('#gradient .figure');
    const values = new Map(Object.entries(FORMULAS[0][1]));
    let trace = null, leaves = [];
    const valuesText = () => leaves.map((name) => `${name}:${values.get(name)}`).join();
    const first = Object.entries(FORMULAS[0][1]).map(([name, value]) => `${name}:${value}`).join();
    for (const entry of (keep('values', first, valuesText) ?? '').split(',')) {
        const [name, value] = entry.split(':');
        if (name && Number.isFinite(Number(value))) values.set(name, Number(value));
    }
    FORMULAS.forEach(([text], i) => choice.append(element('option', { value: i }, text)));
    choice.selectedIndex = FORMULAS.findIndex(([text]) => text === input.value);            // -1: one of the reader's own

    const stepper = makeStepper(find('#gradient-stepper'), draw);

    // Asks the engine again; shows the reason instead if the formula is wrong.
    function compute() {
        try {
            const compiled = compileFormula(input.value, values);
            engine.write(compiled.text);
            trace = readTrace(engine.json('formula_trace'));
            if (compiled.leaves.join() !== leaves.join()) {
                leaves = compiled.leaves;
                makeLeaves();
            }
            complaint.textContent = domainError(trace) ?? '';
            note.textContent = compiled.constants.map((name) => say(`constant_${name}`)).join(' ');
            input.removeAttribute('aria-invalid');
            figure.classList.remove('stale');
        } catch (error) {
            if (!(error instanceof FormulaError || error instanceof EngineError)) throw error;
            complaint.textContent = error.message;
            note.textContent = say('formula_stale');
            input.setAttribute('aria-invalid', 'true');
            figure.classList.add('stale');
            return;
        }
        const last = trace.ops.length + trace.steps.length;
        stepper.length(last);
        stepper.go(Math.min(stepper.at(), last));
        drawCheck();
        drawQuestion();
    }

    // The question is about the value that the formula uses more than once, if there is one.
    function drawQuestion() {
        const shared = trace.nodes.find((n) => n.uses > 1 && (!n.leaf || n.trained));
        const leaf = trace.nodes.filter((n) => n.leaf && n.trained)
            .reduce((a, b) => Math.abs(b.gradient) > Math.abs(a.gradient) ? b : a);
        const y = trace.nodes[trace.nodes.length - 1].symbol;
        const about = shared ? { u: shared.shown, n: shared.uses, y } : { x: leaf.name, slope: show(leaf.gradient), y };
        const key = shared ? 'gradient' : 'gradient_other';
        find('#gradient-ask').innerHTML = say(`${key}_ask`, about);
        find('#gradient-answer').innerHTML = say(`${key}_answer`, about);
    }

    function makeLeaves() {
        find('#leaves').replaceChildren(...leaves.map((name) => {
            const value = values.get(name) ?? 1;
            values.set(name, value);
            const number = element('input', { type: 'number', step: '0.1', value, id: `leaf-${name}` });
            const slider = element('input', { type: 'range', min: -4, max: 4, step: 0.1, value, 'aria-label': name });
            const set = (from, to) => {
                const wanted = Number(from.value);
                if (from.value === '' || !Number.isFinite(wanted)) return;
                to.value = wanted;
                values.set(name, wanted);
                compute();
            };
            number.addEventListener('input', () => set(number, slider));
            slider.addEventListener('input', () => set(slider, number));
            return element('div', { class: 'leaf' }, element('label', { for: `leaf-${name}` }, name), number, slider);
        }));
    }

    function draw() {
        if (!trace) return;
        const state = stateAt(trace, stepper.at());
        drawGraph(find('#graph'), trace, state);
        find('#gradient-words').innerHTML = describe(trace, state);
        stepper.text(find('#gradient-words .where').textContent);
    }

    function drawCheck() {
        const rows = trace.slopes.map(({ name, slope }) => {
            // A variable that the result does not use is not in the graph.
            const leaf = trace.nodes.find((n) => n.leaf && n.name === name) ?? { gradient: 0 };
            return `<tr><th scope="row"><i>d${name}</i></th><td class="gradient">${show(leaf.gradient, 5)}</td>`
                + `<td>${show(slope, 5)}</td></tr>`;
        });
        find('#gradient-check').innerHTML = `<thead><tr><td></td><th scope="col">${say('check_backward')}</th>`
            + `<th scope="col">${say('check_moved')}</th></tr></thead><tbody>${rows.join('')}</tbody>`;
        const finite = trace.nodes.every((n) => [n.value[0], n.gradient].every((v) => v !== null && Number.isFinite(v)));
        find('#gradient-verdict').className = trace.agree ? 'good' : 'bad';
        find('#gradient-verdict').textContent = say(!finite ? 'check_nothing' : trace.agree ? 'check_agree' : 'check_differ');
    }

    input.addEventListener('input', () => {
        choice.selectedIndex = FORMULAS.findIndex(([text]) => text === input.value);
        compute();
    });
    choice.addEventListener('change', () => {
        const [text, numbers] = FORMULAS[choice.value];
        Object.entries(numbers).forEach(([name, value]) => values.set(name, value));
        input.value = text;
        leaves = [];
        stepper.go(0);
        compute();
    });
    onLanguage(compute, find('#gradient'));
}

// ---- what is known after a step -----------------------------------------------------------------------------------------

// Adds to the trace: the numbers of the operations in order, the symbols to show, and each node's final gradient.
function readTrace(trace) {
    trace.ops = trace.nodes.map((n, i) => i).filter((i) => !trace.nodes[i].leaf);
    for (const node of trace.nodes) {
        node.shown = node.leaf && !node.trained && node.value?.length === 1 ? show(node.value[0]) : node.symbol;
        node.gradient = 0;                                  // a leaf without a path to the result keeps it
    }
    for (const step of trace.steps) for (const give of step.gives) trace.nodes[give.node].gradient = give.sum[0];
    return trace;
}

// Steps 1 to ops.length are the forward pass, the rest the backward pass. Step 0 has only the leaves.
function stateAt(trace, at) {
    const forward = Math.min(at, trace.ops.length), backward = at - forward;
    const gradients = new Map(), parts = new Map();
    if (backward > 0) gradients.set(trace.steps[0].node, trace.steps[0].dy[0]);
    for (const step of trace.steps.slice(0, backward)) {
        for (const give of step.gives) {
            gradients.set(give.node, give.sum[0]);
            parts.set(`${give.node} ${step.node} ${give.input}`, give.part[0]);
        }
    }
    return { at, forward, backward, gradients, parts, known: new Set(trace.ops.slice(0, forward)) };
}

const inParentheses = (x, digits) => x < 0 ? `(${show(x, digits)})` : show(x, digits);
const pretty = (formula) => formula.replace(/\^2(?!\d)/g, '²').replace(/\^3(?!\d)/g, '³').replace(/-/g, '−');

// A formula of a node with its symbols, where a constant is its number, or with numbers for all of them. Remarks are left out.
const withoutRemark = (formula) => formula.replace(/, (elementwise|\S+ in radians)$/, '');

function inSymbols(trace, formula) {
    const shown = new Map(trace.nodes.map((n) => [n.symbol, n.shown]));
    return pretty(withoutRemark(formula).replace(/[A-Za-z_]\w*/g, (word) => shown.get(word) ?? word));
}

function inNumbers(trace, formula, gradient) {
    const known = new Map(trace.nodes.map((n) => [n.symbol, n.value?.[0]]));
    const words = withoutRemark(formula).replace(/[A-Za-z_]\w*/g, (word) => {
        if (known.has(word)) return inParentheses(known.get(word));
        return word[0] === 'd' && known.has(word.slice(1)) ? inParentheses(gradient) : word;
    });
    // Two factors side by side: a dot makes them readable.
    return pretty(words.replace(/([\d)⁰¹²³⁴-⁹])\s+(?=[\d(])/g, '$1 · '));
}

// The rules of a step, one for each value that it gives a gradient: "du = dv (1 - v^2)".
const rulesOf = (node) => node.backward.split(/,\s+(?=d\w+ = )|;\s+/);

function describe(trace, state) {
    const { nodes, ops, steps } = trace;
    if (state.at === 0) return `<p class="where">${say('words_start')}</p><p>${say('words_start_more')}</p>`;
    if (state.backward === 0) {
        const node = nodes[ops[state.forward - 1]];
        return `<p class="where">${say('words_forward', { k: state.forward, n: ops.length })}</p>`
            + `<p><i>${node.symbol}</i> = ${inSymbols(trace, node.forward)} = ${inNumbers(trace, node.forward)}`
            + ` = <b class="value">${show(node.value[0], 5)}</b></p>`
            + (state.forward === ops.length ? `<p>${say('words_turn', { y: node.symbol })}</p>` : '');
    }
    const step = steps[state.backward - 1], node = nodes[step.node];
    const out = [`<p class="where">${say('words_backward', { k: state.backward, n: steps.length,
        call: `${node.symbol} = ${inSymbols(trace, node.forward)}` })}</p>`];
    if (state.backward === 1) out.push(`<p>${say('words_seed', { y: node.symbol })}</p>`);
    const rules = rulesOf(node), sums = [];
    for (const give of step.gives) {
        const now = step.gives.filter((g) => g.node === give.node);
        if (now[0] !== give) continue;                      // the rule of a value used twice here is one sum
        const target = nodes[give.node], rule = rules.find((r) => r.startsWith(`d${target.symbol} =`)) ?? rules[0];
        const right = rule.slice(rule.indexOf('=') + 1).trim();
        const filled = inNumbers(trace, right, step.dy[0]), isNumber = /^\(?[−\d.]+( × \S+)?\)?$/.test(filled);
        const given = now.reduce((sum, g) => sum + g.part[0], 0);
        out.push(`<p><i>${inLanguage(inSymbols(trace, rule))}</i>${isNumber ? '' : ` = ${inLanguage(filled)}`}`
            + ` = <b class="gradient">${show(given, 5)}</b></p>`);
        const terms = [...(give.before ? [give.before[0]] : []), ...now.map((g) => g.part[0])];
        if (terms.length > 1) {
            const sum = terms.map((t) => inParentheses(t, 5)).join(' + ');
            const total = show(give.sum[0], 5);
            sums.push(`<p class="sum">${say('words_sum', { u: target.shown, n: target.uses, sum, total })}</p>`);
        }
    }
    out.push(...sums);
    if (state.backward === steps.length) out.push(`<p>${say('words_end')}</p>`);
    return out.join('');
}

// ---- drawing the graph -----------------------------------------------------------------------------------------------

const BOX = { width: 122, height: 70, along: 190, across: 92, lines: [-14, 7, 26], gap: 32 };
const LECTURE_BOX = { width: 82, height: 50, along: 150, across: 92, lines: [-10, 6, 21], gap: 18 };

// Places nodes in layers: an operation after its inputs, a leaf just before its first user. An edge that spans several layers
// gets a bend in each of them, so that it passes beside the boxes.
function layOut(trace) {
    const depth = trace.nodes.map(() => 0);
    trace.nodes.forEach((n, i) => { if (!n.leaf) depth[i] = 1 + Math.max(...n.in.map((j) => depth[j])); });
    trace.nodes.forEach((n, i) => {
        if (n.leaf) depth[i] = Math.min(...trace.nodes.map((m, k) => !m.leaf && m.in.includes(i) ? depth[k] : Infinity)) - 1;
    });
    const layers = Array.from({ length: Math.max(...depth) + 1 }, () => []);
    const places = trace.nodes.map((n, i) => ({ layer: depth[i], users: [], at: 0 }));
    places.forEach((p) => layers[p.layer].push(p));
    const edges = [];
    trace.nodes.forEach((n, i) => (n.in ?? []).forEach((j, k) => {
        const bends = [];
        let user = places[i];
        for (let layer = depth[i] - 1; layer > depth[j]; layer--) {
            const bend = { layer, users: [user], at: 0 };
            layers[layer].push(bend);
            bends.unshift(bend);
            user = bend;
        }
        places[j].users.push(user);
        edges.push({ from: j, to: i, input: k, bends });
    }));
    for (let d = layers.length - 1; d >= 0; d--) {
        const wanted = (p) => p.users.length ? p.users.reduce((s, u) => s + u.at, 0) / p.users.length : 0;
        layers[d].sort((a, b) => wanted(a) - wanted(b));
        layers[d].forEach((p, i) => { p.at = i - (layers[d].length - 1) / 2; });
    }
    return { places, edges, layers };
}

function drawGraph(target, trace, state) {
    const { places, edges, layers } = layOut(trace);
    const space = lectureRoom(target), room = space ? space[0] : target.parentElement.clientWidth;
    const box = space ? LECTURE_BOX : BOX, wide = Boolean(space) || room > 600;
    // A long graph is drawn closer before it is drawn smaller.
    const along = Math.min(box.along, Math.max(box.width + box.gap, (room - box.width - 12) / (layers.length - 1)));
    const across = Math.max(...layers.map((l) => l.length));
    const most = space ? (space[1] - box.height - 12) / (across - 1) : Infinity;
    const stepAlong = wide ? along : box.height + 44;
    const stepAcross = wide ? Math.min(box.across, Math.max(box.height + 6, most)) : box.width + 12;
    const length = (layers.length - 1) * stepAlong + (wide ? box.width : box.height) + 12;
    const breadth = (across - 1) * stepAcross + (wide ? box.height : box.width) + 12;
    const point = (p) => {
        const along = p.layer * stepAlong + (wide ? box.width : box.height) / 2 + 6, aside = breadth / 2 + p.at * stepAcross;
        return wide ? [along, aside] : [aside, along];
    };
    const half = wide ? [box.width / 2, 0] : [0, box.height / 2];
    const current = state.backward > 0 ? trace.steps[state.backward - 1].node : trace.ops[state.forward - 1];

    const marks = [EDGE, BLUE, VERMILION].map((color, i) => svg('marker', { id: `arrow${i}`, viewBox: '0 0 8 8', refX: 7,
        refY: 4, markerWidth: 10, markerHeight: 10, markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse' },
            svg('path', { d: 'M0,0 L8,4 L0,8 z', fill: color })));
    const parts = [svg('defs', {}, ...marks)], labels = [], digits = space ? 4 : 5;
    for (const edge of edges) {
        const given = state.parts.get(`${edge.from} ${edge.to} ${edge.input}`);
        const active = edge.to === current;
        const kind = given !== undefined ? 2 : active && state.backward === 0 ? 1 : 0;
        // Two edges between the same boxes are drawn apart.
        const twin = trace.nodes[edge.to].in.filter((j) => j === edge.from).length > 1 ? (edge.input ? 14 : -14) : 0;
        const [x0, y0] = point(places[edge.from]), [x1, y1] = point(places[edge.to]);
        const shift = wide ? [0, twin] : [twin * 1.6, 0];
        const path = [[x0 + half[0], y0 + half[1]], ...edge.bends.map(point), [x1 - half[0], y1 - half[1]]]
            .map(([x, y]) => [x + shift[0], y + shift[1]]);
        const d = path.map(([x, y], i) => {
            if (i === 0) return `M${x},${y}`;
            const [px, py] = path[i - 1];
            return wide ? `C${(px + x) / 2},${py} ${(px + x) / 2},${y} ${x},${y}`
                : `C${px},${(py + y) / 2} ${x},${(py + y) / 2} ${x},${y}`;
        }).join(' ');
        parts.push(svg('path', { d, fill: 'none', stroke: [EDGE, BLUE, VERMILION][kind],
            'stroke-width': active ? 2.6 : 1.5,
            [kind === 2 ? 'marker-start' : 'marker-end']: `url(#arrow${kind})` }));
        if (given !== undefined && trace.nodes[edge.from].uses > 1) {
            const middle = path[Math.floor((path.length - 1) / 2)], next = path[Math.floor((path.length - 1) / 2) + 1];
            // Between the boxes of a lecture there is no room: the number stands above or below the box.
            const side = space && path.length === 2 ? Math.sign(Math.round(y1 - y0)) : 0;
            labels.push(svg('text', side
                ? { x: x1 - half[0] - 4, y: y0 + side * (box.height / 2 + 9) + 4, class: 'part', 'text-anchor': 'end' }
                : { x: (middle[0] + next[0]) / 2, y: (middle[1] + next[1]) / 2 + 5, class: 'part', 'text-anchor': 'middle' },
            show(given, 4)));
        }
    }
    trace.nodes.forEach((node, i) => {
        const [x, y] = point(places[i]);
        const known = node.leaf || state.known.has(i), gradient = state.gradients.get(i);
        const line = (text, kind, dy) => svg('text', { x, y: y + dy, class: kind, 'text-anchor': 'middle' }, text);
        const formula = node.leaf ? '' : inSymbols(trace, node.forward);
        const short = formula.length > (space ? 8 : 11)
            ? `${node.op}(${node.in.map((j) => trace.nodes[j].shown).join(', ')})` : formula;
        const title = node.leaf ? node.shown : `${node.symbol} = ${short}`;
        const isCurrent = i === current && state.at > 0;
        parts.push(svg('g', { opacity: known ? 1 : 0.45 },
            svg('rect', { x: x - box.width / 2, y: y - box.height / 2, width: box.width, height: box.height, rx: 9,
                fill: node.leaf ? SOFT : PAPER, 'stroke-width': isCurrent ? 3 : 1.2,
                stroke: isCurrent ? (state.backward > 0 ? VERMILION : BLUE) : EDGE }),
            line(title, 'title', node.leaf && !node.trained ? 5 : box.lines[0]),
            ...(known && (!node.leaf || node.trained) ? [line(show(node.value[0], digits), 'value', box.lines[1])] : []),
            ...(gradient !== undefined && node.trained
                ? [line(`d${node.symbol} = ${show(gradient, digits)}`, 'gradient', box.lines[2])] : [])));
    });
    const [width, height] = wide ? [length, breadth] : [breadth, length];
    const [frameWidth, frameHeight] = space ? [Math.max(width, space[0]), Math.max(height, space[1])] : [width, height];
    target.setAttribute('viewBox',
        `${(width - frameWidth) / 2} ${(height - frameHeight) / 2} ${frameWidth} ${frameHeight}`);
    target.style.maxWidth = `${width}px`;
    const nodes = trace.nodes.map((n, i) =>
        (n.leaf ? n.shown : `${n.symbol} = ${inSymbols(trace, n.forward)}`)
        + (n.leaf || state.known.has(i) ? `: ${show(n.value[0])}` : '')
        + (state.gradients.has(i) ? `, d${n.symbol} ${show(state.gradients.get(i))}` : '')).join('; ');
    target.setAttribute('aria-label', say('numbers_text', { what: say('gradient_graph'), numbers: nodes }));
    target.replaceChildren(...parts, ...labels);
}
