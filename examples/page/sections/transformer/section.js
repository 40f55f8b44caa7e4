// A Transformer that sorts or reverses six digits: its attention while it learns, and its backward pass.

const ROW = 6, DIGITS = 10;

function startTransformer(engine, bits) {
    const root = find('#transformer'), task = find('select.task', root), row = find('#row');
    const names = ['sort', 'reverse'];
    const last = bits.native.sort.steps, seed = find('.seed', root);
    let hash, trace = null;

    // ---- training --------------------------------------------------------------------------------------------------------

    const training = makeTraining(root, {
        name: 'transformer-step',
        last: () => last,
        begin() {
            engine.call('sorter_begin', Number(task.value), Number(seed.value));
            [hash, trace] = [null, null];
        },
        train() {
            trace = null;
            return engine.call('sorter_train', 1);
        },
        save: () => engine.numbers(engine.call('sorter_weights', 0)).slice(),
        restore(saved) {
            trace = null;
            engine.numbers(saved.length).set(saved);
            engine.call('sorter_weights', 1);
        },
        ended() {
            if (seed.value !== '0') return;
            engine.call('sorter_hash');
            hash = JSON.parse(engine.printed());
            bits.found(names[task.value], hash);
        },
        draw,
    });

    const digits = () => (row.value.normalize('NFKC').replace(/\D/g, '') + '000000').slice(0, ROW);

    function draw() {
        engine.write(digits());
        const look = engine.json('sorter_look');
        drawAnswer(look);
        drawMaps(look);
        chart(find('#transformer-loss'), { height: 220, x: [0, last], y: [0, 3], xLabel: say('axis_step'),
            yLabel: say('axis_loss'), curves: [{ points: training.losses, color: BLUE }], marker: training.marker });
        const state = training.words('transformer_untrained');
        find('#transformer-state').textContent = state;
        find('#transformer-loss').setAttribute('aria-label', state);
        find('#transformer-hash').innerHTML = hash ? bits.sentence(names[task.value], hash) : '';
        training.drawButtons();
        if (!training.running) drawBackward();
    }

    function drawAnswer(look) {
        const line = (key, cells) => `<div class="digits"><span class="name">${say(key)}</span>${cells}</div>`;
        const right = look.output.filter((d, i) => d === look.answer[i]).length;
        const given = [...digits()].map((d) => `<span class="digit">${d}</span>`).join('');
        const kind = (d, i) => d === look.answer[i] ? 'right' : 'wrong';
        const said = look.output.map((d, i) => `<span class="digit ${kind(d, i)}">${d < DIGITS ? d : '▸'}</span>`);
        find('#answer').innerHTML = line('row_in', given) + line('row_out', said.join(''))
            + `<p class="state">${say('row_right', { right })}</p>`;
    }

    function drawMaps(look) {
        const source = [...digits()], read = ['▸', ...look.answer.slice(0, ROW - 1)].map(String);
        const maps = [['encoder', source, source], ['decoder', read, read], ['source', look.answer.map(String), source]];
        const old = find('#maps').querySelectorAll('figure');
        if (old.length === 0) {
            find('#maps').replaceChildren(...maps.map(() =>
                element('figure', {}, element('figcaption'), svg('svg', { role: 'group' }))));
        }
        const size = find('#maps').clientWidth < 500 ? 21 : 30;     // two maps beside each other on a phone
        find('#maps').querySelectorAll('figure').forEach((figure, i) => {
            const [key, rows, columns] = maps[i];
            find('figcaption', figure).innerHTML = say(`map_${key}`);
            heatMap(figure, look[key], ROW, { most: 1, size, gap: 1, rowLabels: rows, columnLabels: columns,
                tell: (r, c, v) => say('map_cell', { row: rows[r], column: columns[c], place: r + 1, read: c + 1,
                    weight: v.toFixed(3) }) });
            find('svg', figure).setAttribute('aria-label', rows.map((r, k) => {
                const weights = look[key].slice(k * ROW, (k + 1) * ROW), most = weights.indexOf(Math.max(...weights));
                return say('map_text', { row: r, column: columns[most], place: most + 1, weight: show(weights[most], 2) });
            }).join(' '));
        });
    }

    for (const control of [task, seed]) {
        control.addEventListener('change', training.again);
    }
    row.addEventListener('input', () => { trace = null; draw(); });
    names.forEach((name, i) => bits.onRun(name, () => {
        [task.value, seed.value] = [i, 0];
        training.all();
    }));

    // ---- the backward pass ------------------------------------------------------------------------------------------------

    const stepper = makeStepper(find('#transformer-stepper'), () => {
        if (!training.running) return drawBackward();
        training.stop();
        draw();
    });

    function drawBackward() {
        if (!trace) {
            engine.write(digits());
            trace = readTrace(engine.json('sorter_trace'));
            trace.parts = partsOf(trace);
            stepper.length(trace.steps.length);
            find('.back', stepper.root).disabled = stepper.at() === 1;
        }
        const at = stepper.at(), current = trace.steps[at - 1];
        drawFlow(at, current);
        find('#transformer-words').innerHTML = words(at, current);
        stepper.text(find('#transformer-words .where').textContent);
        find('#tiles').replaceChildren(...tiles(current));
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
        const where = say('back_where', { k: at, n: trace.steps.length,
            side: say(part[0] === 'e' ? 'flow_encoder' : 'flow_decoder'), part: say(`part_${part.replace(/^._|\d$/g, '')}`) });
        const rule = roleNames(node);
        return `<p class="where">${where}</p><p><code>${node.op}</code>: ${say(`op_${node.op}`)}</p>`
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

    // The matrices of a step: the gradient that arrives, what some rules read, and what each input gets.
    function tiles(current) {
        const node = trace.nodes[current.node], made = [];
        made.push(tile(node, current.dy, 'tile_arrives'));
        if (['masked_softmax', 'matmul', 'relu', 'log_softmax'].includes(node.op)) {
            for (const i of node.reads) {
                const read = trace.nodes[i];
                if (read.value) made.push(tile(read, read.value, i === current.node ? 'tile_result' : 'tile_reads'));
            }
        }
        for (const give of current.gives) {
            const target = trace.nodes[give.node];
            const name = { name: target.leaf ? target.name : '' };
            if (give.before) {
                made.push(tile(target, give.before, 'tile_before'), tile(target, give.part, 'tile_adds'),
                    tile(target, give.sum, 'tile_sum'));
            } else {
                made.push(tile(target, give.part, target.leaf ? 'tile_weight' : 'tile_gives', name));
            }
        }
        return made;
    }

    function tile(node, values, key, more = {}) {
        const columns = node.shape.length ? node.shape[node.shape.length - 1] : 1, rows = values.length / columns;
        const most = Math.max(...values.map(Math.abs)) || 1;
        const size = Math.max(6, Math.min(20, Math.floor(300 / columns)));
        const picture = svg('svg', { role: 'group' });
        const caption = say(key, { ...more, shape: `${rows} × ${columns}`, most: show(most, 2) });
        picture.setAttribute('aria-label', caption.replace(/<[^>]*>/g, ''));
        const figure = element('figure', {}, element('figcaption'), picture);
        find('figcaption', figure).innerHTML = caption;
        heatMap(figure, values, columns, { most, size, gap: 1, signed: true,
            tell: (r, c, v) => say('tile_cell', { row: r + 1, column: c + 1, value: show(v, 4) }) });
        return figure;
    }

    training.open();
    onLanguage(draw);
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
