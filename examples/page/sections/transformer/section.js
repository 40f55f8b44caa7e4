// A Transformer that sorts or reverses six digits: its attention while it learns.

const ROW = 6, DIGITS = 10;

// Returns what the section of its backward pass needs: { digits(), version, pause(), drawn() }. `version` changes with the
// weights and the digits; drawn() is called when no step of training follows.
function startTransformer(engine, bits) {
    const root = find('#transformer'), task = find('select.task', root), row = find('#row');
    const names = ['sort', 'reverse'];
    const last = bits.native.sort.steps, seed = find('.seed', root);
    let hash;
    const sorter = {
        digits: () => (row.value.normalize('NFKC').replace(/\D/g, '') + '000000').slice(0, ROW),
        version: 0,
        pause() {
            if (!training.running) return;
            training.stop();
            draw();
        },
        drawn() {},
    };
    const { digits } = sorter;

    const training = makeTraining(root, {
        name: 'transformer-step',
        last: () => last,
        begin() {
            engine.call('sorter_begin', Number(task.value), Number(seed.value));
            hash = null;
            sorter.version++;
        },
        train() {
            sorter.version++;
            return engine.call('sorter_train', 1);
        },
        save: () => engine.numbers(engine.call('sorter_weights', 0)).slice(),
        restore(saved) {
            sorter.version++;
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
        if (!training.running) sorter.drawn();
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
    row.addEventListener('input', () => { sorter.version++; draw(); });
    names.forEach((name, i) => bits.onRun(name, () => {
        [task.value, seed.value] = [i, 0];
        training.all();
    }));

    training.open();
    onLanguage(draw, root);
    return sorter;
}
