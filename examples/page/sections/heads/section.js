// One head and several: the task of examples/heads.c.

function startHeads(engine) {
    const STEPS = 300, LENGTH = 8, LETTERS = 'abcdefghij';
    const COLORS = { 1: [VERMILION, '9 5'], 2: [BLUE], 4: [INK, '2 4'], 8: [GRAY, '12 3 3 3'] };
    const root = find('#heads'), number = find('.number', root), word = find('#heads-word'), seed = find('.seed', root);
    const found = new Map();                                // number of heads -> losses of its last run

    const letters = () => ([...word.value.normalize('NFKC').toLowerCase()].filter((c) => LETTERS.includes(c)).join('')
        + 'headache').slice(0, LENGTH);

    const training = makeTraining(root, {
        name: 'heads-step',
        last: () => STEPS,
        begin() { engine.call('heads_begin', Number(number.value), Number(seed.value)); },
        train: () => engine.call('heads_train'),
        save: () => engine.numbers(engine.call('heads_weights', 0)).slice(),
        restore(saved) {
            engine.numbers(saved.length).set(saved);
            engine.call('heads_weights', 1);
        },
        ended() {},
        draw,
    });

    function draw() {
        engine.write(letters());
        const look = engine.json('heads_look'), heads = Number(number.value);
        drawAnswer(look);
        drawMaps(look.weights, heads);
        found.set(heads, training.losses);
        chart(find('#heads-loss'), { height: 220, x: [0, STEPS], y: [0, 2.5], xLabel: say('axis_step'),
            yLabel: say('heads_loss'), marker: training.marker, curves: [...found].filter(([, points]) => points.length)
                .map(([n, points]) => ({ points, color: COLORS[n][0], dash: COLORS[n][1], label: String(n) })) });
        const right = say('heads_right', { n: heads, percent: (100 * look.right).toFixed(1) });
        const state = `${training.words('heads_untrained')} ${right}`;
        find('#heads-state').textContent = state;
        find('#heads-loss').setAttribute('aria-label', state);
        training.drawButtons();
    }

    function drawAnswer({ before, first }) {
        const given = letters(), line = (key, cells) =>
            `<div class="digits"><span class="name">${say(key)}</span>${cells.join('')}</div>`;
        const said = (text, right) => [...text].map((c, i) =>
            `<span class="digit ${c === right(i) ? 'right' : 'wrong'}">${c}</span>`);
        find('#heads-answer').innerHTML = line('heads_given', [...given].map((c) => `<span class="digit">${c}</span>`))
            + line('heads_before', said(before, (i) => given[Math.max(0, i - 1)]))
            + line('heads_first', said(first, () => given[0]));
    }

    function drawMaps(weights, heads) {
        const maps = find('#heads-maps'), labels = [...letters()], each = LENGTH * LENGTH;
        const size = heads > 2 || maps.clientWidth < 500 ? 16 : 24;     // two maps beside each other on a phone
        // The letters of a lecture are too large for many maps.
        const named = lecture && heads > 2 ? {} : { rowLabels: labels, columnLabels: labels };
        if (maps.children.length !== heads) {
            maps.replaceChildren(...Array.from({ length: heads }, () =>
                element('figure', {}, element('figcaption'), svg('svg', { role: 'group' }))));
        }
        [...maps.children].forEach((figure, h) => {
            const map = weights.slice(each * h, each * (h + 1));
            find('figcaption', figure).textContent = say('heads_map', { n: h + 1 });
            heatMap(figure, map, LENGTH, { most: 1, size, gap: 1, fills: true, ...named, tell: (r, c, v) => say('map_cell', {
                row: labels[r], column: labels[c], place: r + 1, read: c + 1, weight: v.toFixed(3) }) });
            find('svg', figure).setAttribute('aria-label', `${say('heads_map', { n: h + 1 })}: ${labels.map((row, r) => {
                const line = map.slice(LENGTH * r, LENGTH * (r + 1)), most = line.indexOf(Math.max(...line));
                return say('map_text', { row, column: labels[most], place: most + 1, weight: show(line[most], 2) });
            }).join(' ')}`);
        });
    }

    number.addEventListener('change', training.again);
    seed.addEventListener('change', () => { found.clear(); training.again(); });
    word.addEventListener('input', draw);
    training.open();
    onLanguage(draw, root);
}
