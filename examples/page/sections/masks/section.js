// What masks hide: the scores, the weights and the gradients of attention with a causal mask and one of the padding.

function startMasks(engine) {
    const N = 6;
    const root = find('#masks'), seed = find('.seed', root), padded = find('.padded', root), after = find('.after', root);
    const causal = find('#masks-causal'), padding = find('#masks-padding');
    const figures = root.querySelectorAll('figure');

    // A cross in each cell that is hidden.
    function cross(figure, mask) {
        const { left, top, wide, high } = figure.map;
        const lines = mask.flatMap((visible, i) => {
            if (visible) return [];
            const x = left + (i % N) * wide + 4, y = top + Math.floor(i / N) * high + 4, across = wide - 9, down = high - 9;
            return [`M${x},${y}l${across},${down}m0,${-down}l${-across},${down}`];
        });
        find('svg', figure).append(svg('path', { d: lines.join(''), stroke: INK, fill: 'none', 'pointer-events': 'none' }));
    }

    function draw() {
        const hidden = Number(padded.value), words = say('masks_words').split(' ').slice(hidden);
        while (words.length < N) words.push('∅');
        const look = engine.json('masks_look', N, hidden, Number(causal.checked), Number(padding.checked), Number(after.value),
            Number(seed.value));
        const size = find('#masks-maps').clientWidth < 500 ? 21 : 30;       // two maps beside each other on a phone
        const labels = words.map((_, i) => `${i + 1}`), named = (i) => `${i + 1} ${words[i]}`;
        [['scores', 3, true], ['weights', 1, false], ['gradient', 1, true]].forEach(([key, most, signed], k) => {
            heatMap(figures[k], look[key], N, { most, size, gap: 1, signed, fills: true, rowLabels: labels,
                columnLabels: labels, tell: (r, c, v) => say('masks_cell', { query: named(r), key: named(c),
                    what: say(`masks_${key}`), value: v === 0 ? '0' : show(v, 3) }) +
                    (look.mask[N * r + c] ? '' : ` ${say('masks_hidden')}`) });
            find('svg', figures[k]).setAttribute('aria-label', say('numbers_text', { what: say(`masks_${key}`),
                numbers: words.map((_, r) => `${named(r)}: ${look[key].slice(N * r, N * (r + 1)).map((v) => show(v, 2))
                    .join(' ')}`).join('; ') }));
        });
        cross(figures[0], look.mask);
        bars(find('#masks-keys'), look.keys, { height: 190, y: [0, Math.max(1, ...look.keys)], color: VERMILION, labels,
            name: say('masks_keys'), text: (v) => v === 0 ? '0' : show(v, 2) });
        const sums = look.sums.map((v) => Number(v.toFixed(2)));
        find('#masks-words').textContent = say('masks_line', { words: words.map((_, i) => named(i)).join(' · ') });
        const zeros = look.keys.flatMap((v, i) => v === 0 ? [named(i)] : []);
        const least = Math.min(...sums), most = Math.max(...sums);
        const added = say(least === most ? 'masks_sum' : 'masks_sums', { least: show(least), most: show(most) });
        find('#masks-state').textContent = `${added} `
            + say(zeros.length ? 'masks_zeros' : 'masks_no_zeros', { words: zeros.join(' · ') });
    }

    for (const control of [causal, padding, padded, after]) control.addEventListener('change', draw);
    for (const event of ['input', 'change']) seed.addEventListener(event, () => { if (seed.checkValidity()) draw(); });
    onLanguage(draw, root);
}
