// Positions as vectors of sines and cosines, as in examples/positions.c.

function startPositions(engine) {
    const LENGTH = 40;
    const root = find('#positions'), width = find('.width', root), position = find('#position');
    const figure = find('#positions-table');
    let look = null;

    function compute() {
        look = engine.json('positions_look', LENGTH, Number(width.value));
        draw();
    }

    function draw() {
        const n = Number(width.value), at = Number(position.value);
        find('output[for=position]').textContent = at;
        const size = Math.max(4, Math.min(12, Math.floor(Math.min(380, figure.clientWidth || 380) / n)));
        heatMap(figure, look.table, n, { most: 1, size, gap: 0, signed: true,
            tell: (r, c, v) => say('positions_cell', { position: r, dimension: c, value: show(v, 4) }) });
        const { left, top, wide, high } = figure.map;
        find('svg', figure).append(svg('rect', { x: left, y: top + at * high, width: n * wide, height: high, fill: 'none',
            stroke: INK, 'stroke-width': 1.5 }));
        find('svg', figure).setAttribute('aria-label', say('positions_table_text', { n: LENGTH, width: n }));
        const row = look.table.slice(at * n, (at + 1) * n), products = look.products.slice(at * LENGTH, (at + 1) * LENGTH);
        const points = (numbers) => numbers.map((v, i) => [i, v]);
        chart(find('#positions-row'), { height: 170, x: [0, n - 1], y: [-1, 1], xLabel: say('positions_dimension'),
            yLabel: '', curves: [{ points: points(row), color: BLUE, dots: n <= 32 }] });
        chart(find('#positions-products'), { height: 220, x: [0, LENGTH - 1],
            y: [Math.min(0, ...look.products), n / 2], xLabel: say('positions_other'), yLabel: '', marker: at,
            curves: [{ points: points(products), color: BLUE, dots: true }] });
        const state = say('positions_state', { i: at, product: show(products[at], 3),
            next: show(products[at === 0 ? 1 : at - 1], 3), far: show(products[at < 20 ? at + 10 : at - 10], 3) });
        find('#positions-state').innerHTML = state;
        find('#positions-row').setAttribute('aria-label', say('numbers_text', { what: say('positions_row'),
            numbers: row.map((v) => show(v, 2)).join(', ') }));
        find('#positions-products').setAttribute('aria-label', state.replace(/<[^>]*>/g, ''));
    }

    width.addEventListener('change', compute);
    position.addEventListener('input', draw);
    compute();
    onLanguage(draw, root);
}
