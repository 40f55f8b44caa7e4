// The backward pass of the Transformer of the section before, step by step.

function startBackward(engine, sorter) {
    const MOST_TILES = 4;
    let trace, known = null;                                // known: the version of the sorter in the trace

    const stepper = makeStepper(find('#backward-stepper'), () => {
        sorter.pause();
        draw();
    });

    function draw() {
        if (known !== sorter.version) {
            known = sorter.version;
            engine.write(sorter.digits());
            trace = readTrace(engine.json('sorter_trace'));
            trace.parts = partsOf(trace);
            stepper.length(trace.steps.length);
            find('.back', stepper.root).disabled = stepper.at() === 1;
        }
        const at = stepper.at(), current = trace.steps[at - 1];
        drawFlow(at, current);
        find('#backward-words').innerHTML = words(at, current);
        stepper.text(find('#backward-words .where').textContent);
        drawTiles(tiles(current));
    }

    function drawFlow(at, current) {
        const now = trace.parts.of.get(current.node);
        const done = new Set(trace.steps.slice(0, at).map((s) => trace.parts.of.get(s.node)));
        const focused = document.activeElement.dataset.part;
        const lines = ['e', 'd'].map((side) => {
            const chips = trace.parts.order.filter((p) => p[0] === side).map((part) => {
                const chip = element('button', { type: 'button', class: part === now ? 'now' : done.has(part) ? 'done' : '',
                    'data-part': part }, say(`part_${part.replace(/^._|\d$/g, '')}`));
                if (part === now) chip.setAttribute('aria-current', 'step');
                const first = trace.steps.findIndex((s) => trace.parts.of.get(s.node) === part);
                chip.addEventListener('click', () => stepper.go(1 + first));
                return chip;
            });
            const name = say(side === 'e' ? 'flow_encoder' : 'flow_decoder');
            return element('div', { class: 'line', role: 'group', 'aria-label': name },
                element('span', { class: 'name' }, name),
                element('div', { class: 'parts' }, ...chips));
        });
        find('#flow').replaceChildren(...lines);
        if (focused) find(`[data-part=${focused}]`, find('#flow')).focus();
    }

    function words(at, current) {
        const node = trace.nodes[current.node], part = trace.parts.of.get(current.node);
        const where = say('backward_where', { k: at, n: trace.steps.length,
            side: say(part[0] === 'e' ? 'flow_encoder' : 'flow_decoder'), part: say(`part_${part.replace(/^._|\d$/g, '')}`) });
        const rule = roleNames(node);
        const meaning = say(part.includes('plus') ? 'op_add_skip' : `op_${node.op}`);
        return `<p class="where">${where}</p><p class="meaning"><code>${node.op}</code>: ${meaning}</p>`
            + `<p class="gradient">${rule}</p>`;
    }

    // The library's rule with x, W, b, ... in place of linear17, weight19, ...
    function roleNames(node) {
        const roles = { linear: ['x', 'W', 'b'], layer_norm: ['x', 'γ', 'β'], matmul: ['a', 'b'], add: ['a', 'b'],
            nll_loss: ['x', 'target'], embedding: ['table', 'ids'] }[node.op] ?? ['x', 'z'];
        const role = new Map(node.in.filter((j) => j >= 0).map((j, k) => [trace.nodes[j].symbol, roles[k] ?? 'z']));
        role.set(node.symbol, 'y');
        return pretty(inLanguage(node.backward.replace(/[A-Za-z_]\w*/g, (word) => role.get(word)
            ?? (word[0] === 'd' && role.has(word.slice(1)) ? `d${role.get(word.slice(1))}` : word)))).replace(/\^T/g, 'ᵀ');
    }

    // The matrices of a step, as [node, numbers, key of the caption, its values]: the gradient that arrives, what some rules
    // read, and what each input gets.
    function tiles(current) {
        const node = trace.nodes[current.node], made = [];
        made.push([node, current.dy, 'tile_arrives']);
        if (['masked_softmax', 'matmul', 'relu', 'log_softmax'].includes(node.op)) {
            for (const i of node.reads) {
                const read = trace.nodes[i];
                if (read.value) made.push([read, read.value, i === current.node ? 'tile_result' : 'tile_reads']);
            }
        }
        for (const give of current.gives) {
            const target = trace.nodes[give.node];
            const name = target.leaf ? { name: lecture ? shortName(target.name) : target.name } : {};
            if (give.before) {
                made.push([target, give.before, 'tile_before'], [target, give.part, 'tile_adds'],
                    [target, give.sum, 'tile_sum']);
            } else {
                made.push([target, give.part, target.leaf ? 'tile_weight' : 'tile_gives', name]);
            }
        }
        return lecture ? fewTiles(node, made) : made;
    }

    // At most four, for a slide: the weights are left out first; of a product, the first factor and what the second one gets.
    function fewTiles(node, made) {
        const kept = node.op === 'matmul' ? [made[0], ...made.slice(2, 4)] : made;
        return [...kept.filter(([, , key]) => key !== 'tile_weight'), ...kept.filter(([, , key]) => key === 'tile_weight')]
            .slice(0, MOST_TILES);
    }

    // All of them are in their places before the first is drawn: a lecture gives each its share of the width.
    function drawTiles(all) {
        const figures = all.map(() => element('figure', {}, element('figcaption'), svg('svg', { role: 'group' })));
        find('#tiles').replaceChildren(...figures);
        const captions = all.map(([node, values, key, more = {}]) => say(key, { ...more,
            shape: `${values.length / columnsOf(node)} × ${columnsOf(node)}`, most: show(mostOf(values), 2) }));
        figures.forEach((figure, i) => { find('figcaption', figure).innerHTML = captions[i]; });
        all.forEach(([node, values], i) => {
            const columns = columnsOf(node), size = Math.max(6, Math.min(20, Math.floor(300 / columns)));
            find('svg', figures[i]).setAttribute('aria-label', captions[i].replace(/<[^>]*>/g, ''));
            heatMap(figures[i], values, columns, { most: mostOf(values), size, gap: 1, signed: true, fills: true,
                tell: (r, c, v) => say('tile_cell', { row: r + 1, column: c + 1, value: show(v, 4) }) });
        });
    }

    const columnsOf = ({ shape }) => shape.length ? shape[shape.length - 1] : 1;
    const mostOf = (values) => Math.max(...values.map(Math.abs)) || 1;

    sorter.drawn = draw;
    onLanguage(draw, find('#backward'));
}

// The name of a weight in formulas: W_K for that of the layer of the keys.
function shortName(name) {
    const [of, last] = name.split('.').slice(-2), place = 'QKVO'[of] ?? of.match(/^w_(\d)$/)?.[1];
    return { weight: 'W', bias: 'b', a_2: 'γ', b_2: 'β' }[last] + (place ? `_${place}` : '');
}

// Which part of the model each operation belongs to, by the names of the weights: { of: node -> part, order: the parts }.
// A part is "e_norm1": side, kind, number. Operations without weights belong to the part before them; sums of two results are
// skip connections.
function partsOf(trace) {
    const kinds = [[/_embed/, 'embed'], [/norm/, 'norm'], [/self_attn/, 'self'], [/src_attn/, 'source'],
        [/feed_forward/, 'forward'],
        [/generator/, 'generator']];
    const of = new Map(), order = [], count = {};
    let part = null, weights = null;
    const next = (side, kind) => {
        const key = `${side}_${kind}`;
        count[key] = (count[key] ?? 0) + 1;
        part = key + count[key];
        order.push(part);
    };
    for (const i of trace.ops) {
        const node = trace.nodes[i], inputs = node.in.filter((j) => j >= 0).map((j) => trace.nodes[j]);
        const weight = inputs.find((n) => n.leaf && n.trained)?.name;
        if (weight) {
            const group = weight.replace(/\.(linears\.\d|w_\d|a_2|b_2|proj|lut)?\.?\w*$/, '');
            if (group !== weights) next(/^(src|encoder)/.test(weight) ? 'e' : 'd',
                kinds.find(([pattern]) => pattern.test(weight))[1]);
            weights = group;
        } else if (node.op === 'add' && inputs.every((n) => !n.leaf)) {
            next(part[0], 'plus');
            weights = null;
        } else if (node.op === 'nll_loss') {
            next('d', 'loss');
        }
        of.set(i, part);
    }
    return { of, order };
}
