// Section 3: the network of examples/spiral.c learns, and its boundary moves.

function startSpiral(engine, bits) {
    const GRID = 60, POINTS = 400;
    const root = find('#spiral'), map = find('#spiral-map'), context = map.getContext('2d');
    const width = find('select.width', root);
    let step, losses, seconds, points, hash;

    function begin() {
        engine.call('spiral_begin', Number(width.value));
        engine.call('spiral_data');
        points = Array.from(engine.numbers(2 * POINTS));
        [step, losses, seconds, hash] = [0, [], 0, null];
    }

    const last = bits.native.spiral.steps;

    function train() {
        const from = performance.now();
        const loss = engine.call('spiral_train', 1);
        seconds += (performance.now() - from) / 1000;
        step++;
        losses.push([step, loss]);
        if (step !== last || Number(width.value) !== 64) return;
        engine.call('spiral_hash');
        hash = JSON.parse(engine.printed());
        bits.found('spiral', hash);
    }

    const runner = makeRunner(() => {
        if (step < last) train();
        return step < last;
    }, draw);

    function draw() {
        drawMap();
        chart(find('#spiral-loss'), { width: 420, height: 250, x: [0, last - 1], y: [0, 0.8], xLabel: say('axis_step'),
            yLabel: say('axis_loss'), curves: [{ points: losses, color: BLUE }] });
        const loss = losses.length ? losses[losses.length - 1][1] : null;
        find('#spiral-state').textContent = loss === null ? say('spiral_untrained')
            : say('spiral_state', { step, loss: show(loss, 3), seconds: seconds.toFixed(2) });
        find('#spiral-hash').innerHTML = hash ? bits.sentence('spiral', hash) : '';
        find('#spiral-loss').setAttribute('aria-label', find('#spiral-state').textContent);
        find('.run', root).textContent = say(runner.running ? 'pause' : step >= last ? 'done' : 'train');
        setDone(root, step >= last);
        map.setAttribute('aria-label', say('spiral_map', { step }));
    }

    function drawMap() {
        engine.call('spiral_grid', GRID);
        const p = engine.numbers(GRID * GRID), cell = map.width / GRID;
        for (let i = 0; i < GRID * GRID; i++) {
            // Blue where the first arm is likely, vermilion where the second one is; white is the boundary.
            context.fillStyle = signed(1.1 * (p[i] - 0.5));
            context.fillRect((i % GRID) * cell, Math.floor(i / GRID) * cell, cell, cell);
        }
        for (let i = 0; i < POINTS; i++) {
            const x = (points[2 * i] / 1.2 + 1) * map.width / 2, y = (1 - points[2 * i + 1] / 1.2) * map.height / 2;
            context.beginPath();
            // The arms also differ in shape.
            if (i % 2) context.rect(x - 3.5, y - 3.5, 7, 7);
            else context.arc(x, y, 4, 0, 7);
            context.fillStyle = i % 2 ? VERMILION : BLUE;
            context.strokeStyle = 'white';
            context.fill();
            context.stroke();
        }
    }

    find('.run', root).addEventListener('click', () => {
        if (runner.running) runner.stop();
        else runner.start();
        draw();
    });
    find('.once', root).addEventListener('click', () => { runner.stop(); train(); draw(); });
    const again = () => { runner.stop(); begin(); draw(); };
    find('.again', root).addEventListener('click', again);
    width.addEventListener('change', again);
    bits.onRun('spiral', () => {
        runner.stop();
        width.value = '64';
        begin();
        while (step < last) train();
        draw();
    });
    begin();
    onLanguage(draw);
}
