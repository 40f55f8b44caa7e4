// Why attention divides the scores by the root of dₖ: the softmax of the products of a query with eight keys.

function startSoftmax(engine) {
    const KEYS = 8, DRAWS = 100, LARGEST = 10;              // dₖ is at most 2^10
    const root = find('#softmax'), k = find('#softmax-k'), scaled = find('.scaled', root), seed = find('.seed', root);
    const KINDS = [{ label: 'q·k', color: VERMILION, dash: '9 5' }, { label: 'q·k / √dₖ', color: BLUE }];
    const means = [];                                       // of each log2 dₖ: for each kind [largest weight, gradient]

    function draw() {
        const e = Number(k.value), kind = Number(scaled.value);
        find('output[for=softmax-k]').textContent = 2 ** e;
        k.setAttribute('aria-valuetext', 2 ** e);
        const { scores, weights } = engine.json('softmax_scores', KEYS, 2 ** e, kind, Number(seed.value));
        const labels = scores.map((_, i) => `${i + 1}`), most = Math.max(4, ...scores.map(Math.abs));
        bars(find('#softmax-scores'), scores, { height: 180, y: [-most, most], color: KINDS[kind].color, labels,
            name: say('softmax_scores') });
        bars(find('#softmax-weights'), weights, { height: 180, y: [0, 1], color: KINDS[kind].color, labels,
            name: say('softmax_weights'), text: (v) => v.toFixed(2) });
        [['#softmax-largest', 0], ['#softmax-gradient', 1]].forEach(([name, i]) => {
            chart(find(name), { height: 190, x: [0, LARGEST], y: [0, i ? 0.4 : 1], marker: e,
                xTicks: [0, 2, 4, 6, 8, 10],
                xLabel: say('softmax_log_k'), yLabel: say(i ? 'softmax_gradient' : 'softmax_largest'),
                curves: KINDS.map((one, n) => ({ ...one, points: means.map((row, log2) => [log2, row[n][i]]), dots: true })) });
            const told = { k: 2 ** e, name: say(i ? 'softmax_gradient' : 'softmax_largest') };
            find(name).setAttribute('aria-label', means[e] ? say('softmax_curves', { ...told, plain: show(means[e][0][i], 2),
                scaled: show(means[e][1][i], 2) }) : say('softmax_wait', told));
        });
        find('#softmax-state').innerHTML = say('softmax_state', { k: 2 ** e, largest: show(Math.max(...weights), 3) });
    }

    k.addEventListener('input', draw);
    scaled.addEventListener('change', draw);
    for (const event of ['input', 'change']) seed.addEventListener(event, () => { if (seed.checkValidity()) draw(); });
    onLanguage(draw, root);

    // The means take half a second, in which the rest of the page stays alive.
    function computeMeans() {
        means.push(engine.json('softmax_means', KEYS, 2 ** means.length, DRAWS));
        if (means.length <= LARGEST) setTimeout(computeMeans);
        else draw();
    }
    setTimeout(computeMeans);
}
