// The next word: a small model learns sentences here, and the reader chooses how a word is drawn from its probabilities.

function startNext(engine) {
    const STEPS = 200, LINE = 12, MOST_DRAWN = 200, MOST_LETTERS = 200;
    const root = find('#next'), sentence = find('#next-sentence'), seed = find('.seed', root);
    const temperature = find('#next-temperature'), k = find('#next-k'), p = find('#next-p');
    let learned = null;                                     // the language of the model's sentences
    let drawn = Math.min(MOST_DRAWN, Math.max(0, Math.floor(Number(keep('drawn', '0', () => String(drawn)))) || 0));

    const training = makeTraining(root, {
        name: 'next-step',
        last: () => STEPS,
        begin() {
            learned = language;
            engine.call('next_begin', language, Number(seed.value));
        },
        train: () => engine.call('next_train'),
        save: () => engine.numbers(engine.call('next_weights', 0)).slice(),
        restore(saved) {
            engine.numbers(saved.length).set(saved);
            engine.call('next_weights', 1);
        },
        ended() {},
        draw,
    });

    // A row for each token for which there is room: an outline for its probability by the model, a bar for that with which it
    // is drawn.
    function drawBars(all) {
        const target = find('#next-bars'), [width, height] = sizeOf(target, 10 * 23);
        const tokens = all.slice(0, Math.max(2, Math.floor(height / 16))), high = height / tokens.length;
        const left = 104, right = 46, wide = width - left - right;
        target.setAttribute('viewBox', `0 0 ${width} ${height}`);
        target.replaceChildren(...tokens.flatMap(({ bytes, p: by, chosen }, i) => {
            const y = i * high + 0.14 * high, box = { x: left, y, height: 0.72 * high };
            return [svg('rect', { ...box, width: Math.max(0.5, chosen * wide), fill: BLUE }),
                svg('rect', { ...box, width: Math.max(0.5, by * wide), fill: 'none', stroke: GRAY, 'stroke-dasharray': '3 2' }),
                svg('text', { x: left - 6, y: (i + 0.5) * high + 4.5, class: 'tick', 'text-anchor': 'end' },
                    [...tokenText(bytes)].slice(0, 10).join('')),
                svg('text', { x: left + Math.max(by, chosen) * wide + 5, y: (i + 0.5) * high + 4.5, class: 'tick' },
                    percent(chosen))];
        }));
        target.setAttribute('aria-label', say('numbers_text', { what: say('next_bars'),
            numbers: tokens.map(({ bytes, chosen }) => `${tokenText(bytes)} ${percent(chosen)}`).join(', ') }));
    }

    // The sentence and the tokens behind it: on a slide, as much of the end as has room. The tokens of a training that is not
    // yet where the link was made are others.
    function drawText(tokens) {
        const list = find('#next-list'), begin = element('span', { role: 'listitem' });
        const shown = training.waiting ? [] : tokens.map((bytes, i) => tokenElement(bytes, i + 1));
        if (training.waiting && drawn) shown.push(element('span', { role: 'listitem' }, say('next_again')));
        const letters = [...sentence.value || say('next_example')], all = letters.length;
        const fill = () => {
            begin.textContent = (letters.length < all ? '…' : '') + letters.join('');
            list.replaceChildren(begin, ...shown);
        };
        letters.splice(0, all - MOST_LETTERS);
        for (fill(); isTooFull(list) && letters.length; fill()) letters.splice(0, 4);
        for (; isTooFull(list) && shown.length; fill()) shown.shift();
    }

    const percent = (v) => v === 0 ? '0' : `${show(100 * v, v < 0.1 ? 1 : 2)} %`;

    function look(more = drawn) {
        const text = sentence.value || say('next_example');
        engine.write(text);
        return engine.json('next_look', new TextEncoder().encode(text).length, Number(temperature.value), Number(k.value),
            Number(p.value), Number(seed.value), more);
    }

    function draw() {
        if (learned !== language) training.start();         // it has read the sentences of the other language
        sentence.placeholder = say('next_example');
        const found = look();
        for (const [control, told] of [[temperature, temperature.value], [k, Number(k.value) || say('next_all')],
            [p, Number(p.value) === 1 ? say('next_all') : p.value]]) {
            find(`output[for=${control.id}]`).textContent = told;
            control.setAttribute('aria-valuetext', told);
        }
        drawBars(found.tokens);
        chart(find('#next-loss'), { height: 200, x: [0, STEPS], y: [0, 7], xLabel: say('axis_step'), yLabel: say('axis_loss'),
            curves: [{ points: training.losses, color: BLUE }], marker: training.marker });
        const state = training.words('next_untrained');
        find('#next-trained').textContent = state;
        find('#next-loss').setAttribute('aria-label', state);
        find('#next-state').innerHTML = say('next_state', { kept: found.kept, vocab: found.vocab });
        drawText(found.drawn);
        find('.forget', root).disabled = drawn === 0;
        training.drawButtons();
    }

    // Draws n tokens more, or up to the end of the line.
    function drawMore(n, toLineEnd) {
        const before = drawn;
        drawn = Math.min(drawn + n, MOST_DRAWN);
        const end = toLineEnd ? look().drawn.findIndex((bytes, i) => i >= before && bytes.includes(10)) : -1;
        if (end >= 0) drawn = end + 1;
        draw();
        noteChange();
    }

    for (const control of [temperature, k, p]) control.addEventListener('input', draw);
    sentence.addEventListener('input', () => { drawn = 0; draw(); });
    seed.addEventListener('change', training.again);
    find('.draw', root).addEventListener('click', () => drawMore(1, false));
    find('.line', root).addEventListener('click', () => drawMore(LINE, true));
    find('.forget', root).addEventListener('click', () => {
        drawn = 0;
        find('.draw', root).focus({ preventScroll: true }); // this button is disabled now
        draw();
        noteChange();
    });
    training.open();
    onLanguage(draw, root);
}
