// The loss of two trained networks in a plane through their weights, beside the largest eigenvalue of the Hessian: the networks
// of the race, and the planes of examples/landscape.c.

function startLandscape(engine) {
    const SIDE = 21, STEPS = 200, ROUNDS = 60, LAST_RACE = 8, SEED_OF_DIRECTIONS = 1000000;
    const root = find('#landscape'), rows = [...root.querySelectorAll('.rows')], button = find('.run', root);
    const [depth, init, seed] = ['depth', 'init', 'seed'].map((name) => find(`.${name}`, root));
    const progress = find('progress', root), figures = [...root.querySelectorAll('figure')];
    progress.max = STEPS + 2 * ROUNDS + 2 * SIDE;
    let work = null, found = [];                            // of each network: { loss, slice, largest, map }

    // The work in parts that a frame has time for.
    function* parts() {
        engine.call('race_begin', LAST_RACE, Number(depth.value), 32, 0, init.selectedIndex, 0, ...placesOf(engine, rows));
        for (let i = 0; i < STEPS; i++) yield engine.json('race_train', LAST_RACE);
        found = [0, 1].map((i) => ({ map: [], ...engine.json('landscape_begin', i, Number(seed.value) + SEED_OF_DIRECTIONS) }));
        for (const [i, one] of found.entries()) {
            for (let n = 0; n < ROUNDS; n++) yield one.largest = engine.call('landscape_round', i);
        }
        for (let k = 0; k < SIDE; k++) {
            for (const [i, one] of found.entries()) {
                engine.call('landscape_row', i, SIDE, k);
                yield one.map.push(...engine.numbers(SIDE));
            }
        }
    }

    const done = () => found[1]?.map.length === SIDE * SIDE;
    const runner = makeRunner(() => {
        progress.value++;
        return !work.next().done;
    }, draw, () => 0);

    function run() {
        work ??= parts();
        runner.start();
        draw();
    }

    function again() {
        runner.stop();
        [work, found, progress.value] = [null, [], 0];
        draw();
    }

    // What is told of a network: its name, and the numbers that there are.
    function numbersOf(name, one) {
        if (one?.largest === undefined) return name;
        return say('landscape_numbers', { name, loss: show(one.loss, 3), largest: show(one.largest, 3),
            slice: show(one.slice, 2), missed: show(100 * (1 - one.slice / one.largest), 5) });
    }

    function draw() {
        const logs = found.map(({ map }) => map.map(Math.log10)), all = logs.flat().filter(Number.isFinite);
        const low = Math.floor(Math.min(...all)), high = Math.max(low + 1, Math.ceil(Math.max(...all)));
        const middle = (SIDE - 1) / 2;
        const size = lecture ? 9 : Math.max(8, Math.min(14, Math.floor(find('.maps', root).clientWidth / SIDE) - 1));
        const names = rowNames(rows), numbers = figures.map((_, i) => numbersOf(names[i], found[i]));
        figures.forEach((figure, i) => {
            const cells = Array.from({ length: SIDE * SIDE }, (_, k) => Math.max(0, (logs[i]?.[k] ?? low) - low || 0));
            const tell = (row, column) => say('landscape_cell', { a: show((column - middle) / middle, 2),
                b: show((middle - row) / middle, 2), loss: show(found[i]?.map[row * SIDE + column] ?? NaN, 3) });
            heatMap(figure, cells, SIDE, { most: all.length ? high - low : 1, size, gap: 0, tell,
                text: (v) => Number.isInteger(low + v) ? `10${raised(String(low + v).replace('-', '−'))}` : '' });
            find('figcaption', figure).textContent = numbers[i];
            find('svg', figure).setAttribute('aria-label', numbers[i]);
        });
        find('#landscape-state').textContent = done() && !runner.running ? say('landscape_done')
            : say(runner.running ? 'landscape_running' : 'landscape_ready', { depth: depth.value });
        button.textContent = say(runner.running ? 'pause' : done() ? 'done' : work ? 'go_on' : 'landscape_run');
        button.disabled = done() && !runner.running;
        progress.hidden = !work || done();
    }

    button.addEventListener('click', () => {
        if (!runner.running) return run();
        runner.stop();
        return draw();
    });
    for (const control of [...rows, depth, init, seed]) control.addEventListener('change', again);
    const wanted = keep('mapped', '', () => done() ? 'true' : '');
    onLanguage(draw, root);
    if (wanted === 'true') run();
}
