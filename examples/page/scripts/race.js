// Section 4: f(x) against x + f(x), by depth: the networks of examples/skip_connection.c.

function startRace(engine) {
    const STEPS = 200, PLAIN = VERMILION, SKIP = BLUE, DASH = '9 5';
    const root = find('#race'), depth = find('#race-depth'), width = find('select.width', root);
    let step = 0, plain = [], skip = [], norms = null, queue = [], found = new Map();

    function begin() {
        engine.call('race_begin', Number(depth.value), Number(width.value), 0);
        norms = engine.json('race_norms');
        [step, plain, skip] = [0, [], []];
    }

    const runner = makeRunner(() => {
        const [a, b] = engine.json('race_train', 1);
        plain.push([step, a]);
        skip.push([step, b]);
        step++;
        if (step < STEPS) return true;
        found.set(Number(depth.value), [a, b]);
        if (queue.length === 0) return false;
        depth.value = queue.shift();
        begin();
        return true;
    }, draw, 12);

    function draw() {
        find('output[for=race-depth]').textContent = depth.value;
        const nothing = { y: 1, label: say('race_nothing') };
        chart(find('#race-loss'), { width: 440, height: 300, x: [0, STEPS], y: [1e-5, 10], log: true, xLabel: say('axis_step'),
            yLabel: say('axis_loss'), lines: [nothing], curves: [
                { points: plain, color: PLAIN, dash: DASH, label: 'f(x)' },
                { points: skip, color: SKIP, label: 'x + f(x)' }] });
        const curve = (all) => all.map((v, i) => [i, v]);
        const n = norms.plain.length - 1;
        const all = [...norms.plain, ...norms.skip].filter((v) => v > 0);
        chart(find('#race-norm'), { width: 440, height: 300, x: [0, n], log: true,
            y: [10 ** Math.floor(Math.log10(Math.min(...all))), 10 ** Math.ceil(Math.log10(Math.max(...all)))],
            xTicks: n <= 8 ? Array.from({ length: n + 1 }, (_, i) => i) : undefined,
            xLabel: say('race_block'), yLabel: say('race_norm'), curves: [
                { points: curve(norms.plain), color: PLAIN, dash: DASH, dots: true, label: 'f(x)', labelFirst: true },
                { points: curve(norms.skip), color: SKIP, dots: true, label: 'x + f(x)', labelFirst: true }] });
        const results = [...found].sort((a, b) => a[0] - b[0]);
        chart(find('#race-found'), { width: Math.min(900, Math.max(340, find('.figure', root).clientWidth - 30)),
            height: 260, x: [0, 24], y: [1e-5, 10], log: true, xLabel: say('race_depth'),
            yLabel: say('race_final'), lines: [nothing], xTicks: [1, 2, 4, 6, 8, 12, 16, 20, 24], curves: [
                { points: results.map(([d, r]) => [d, r[0]]), color: PLAIN, dash: DASH, dots: true, label: 'f(x)' },
                { points: results.map(([d, r]) => [d, r[1]]), color: SKIP, dots: true, label: 'x + f(x)' }] });
        const state = step === 0 ? say('race_ready', { depth: depth.value })
            : say('race_state', { depth: depth.value, step,
                plain: show(plain[step - 1][1], 3), skip: show(skip[step - 1][1], 3) });
        // Screen readers hear the end of a race, not each frame.
        find('#race-state').textContent = runner.running ? say('race_running', { depth: depth.value }) : state;
        find('#race-loss').setAttribute('aria-label', state);
        const first = (all) => show(all[0], 2), end = (all) => show(all[n], 2);
        find('#race-norm').setAttribute('aria-label', say('race_norm_text', { n,
            plain: first(norms.plain), plain_end: end(norms.plain),
            skip: first(norms.skip), skip_end: end(norms.skip) }));
        find('#race-found').setAttribute('aria-label', results.map(([d, r]) =>
            say('race_result', { depth: d, plain: show(r[0], 2), skip: show(r[1], 2) })).join(' ') || say('race_none'));
        find('.run', root).textContent = say(runner.running ? 'pause' : step > 0 && step < STEPS ? 'go_on' : 'race_go');
    }

    find('.run', root).addEventListener('click', () => {
        if (runner.running) {
            runner.stop();
        } else {
            if (step >= STEPS) begin();
            runner.start();
        }
        draw();
    });
    find('.all', root).addEventListener('click', () => {
        runner.stop();
        queue = [2, 3, 4, 6, 8, 12, 16, 24];
        depth.value = 1;
        begin();
        draw();
        runner.start();
    });
    const change = () => { runner.stop(); queue = []; begin(); draw(); };
    depth.addEventListener('input', change);
    width.addEventListener('change', () => { found = new Map(); change(); });
    begin();
    new ResizeObserver(draw).observe(find('.figure', root));
    onLanguage(draw);
}
