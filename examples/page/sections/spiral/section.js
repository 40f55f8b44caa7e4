// A network of two layers learns to tell two classes of points, and its boundary moves: the network of examples/spiral.c.

function startSpiral(engine, bits) {
    const GRID = 60, POINTS = 400;
    const root = find('#spiral'), map = find('#spiral-map'), context = map.getContext('2d');
    const controls = ['width', 'data', 'optimizer', 'rate', 'seed', 'steps'].map((name) => find(`.${name}`, root));
    const steps = controls[5];
    const firsts = ['64', '0', '0', '0.02', '0', '501'];    // those of the example, whose hash is known
    let points, hash;

    const training = makeTraining(root, {
        name: 'spiral-step',
        last: () => Number(steps.value),
        begin() {
            engine.call('spiral_begin', ...controls.slice(0, 5).map((c) => Number(c.value)));
            engine.call('spiral_data');
            [points, hash] = [Array.from(engine.numbers(2 * POINTS)), null];
        },
        train: () => engine.call('spiral_train', 1),
        save: () => engine.numbers(engine.call('spiral_weights', 0)).slice(),
        restore(saved) {
            engine.numbers(saved.length).set(saved);
            engine.call('spiral_weights', 1);
        },
        ended() {
            if (controls.some((c, i) => c.value !== firsts[i])) return;
            engine.call('spiral_hash');
            hash = JSON.parse(engine.printed());
            bits.found('spiral', hash);
        },
        draw,
    });

    function draw() {
        drawMap();
        chart(find('#spiral-loss'), { height: 250, x: [0, Number(steps.value)], y: [0, 0.8], xLabel: say('axis_step'),
            yLabel: say('axis_loss'), curves: [{ points: training.losses, color: BLUE }], marker: training.marker });
        find('#spiral-state').textContent = training.words('spiral_untrained');
        find('#spiral-hash').innerHTML = hash ? bits.sentence('spiral', hash) : '';
        find('#spiral-loss').setAttribute('aria-label', find('#spiral-state').textContent);
        training.drawButtons();
        map.setAttribute('aria-label', say('spiral_map', { step: training.shown }));
    }

    function drawMap() {
        engine.call('spiral_grid', GRID);
        const p = engine.numbers(GRID * GRID), cell = map.width / GRID;
        for (let i = 0; i < GRID * GRID; i++) {
            // Blue where the first class is likely, vermilion where the second one is; white is the boundary.
            context.fillStyle = towards(p[i] > 0.5 ? VERMILION_RGB : BLUE_RGB, 1.1 * Math.abs(p[i] - 0.5));
            context.fillRect((i % GRID) * cell, Math.floor(i / GRID) * cell, cell, cell);
        }
        for (let i = 0; i < POINTS; i++) {
            const x = (points[2 * i] / 1.2 + 1) * map.width / 2, y = (1 - points[2 * i + 1] / 1.2) * map.height / 2;
            context.beginPath();
            // The classes also differ in shape.
            if (i % 2) context.rect(x - 3.5, y - 3.5, 7, 7);
            else context.arc(x, y, 4, 0, 7);
            context.fillStyle = towards(i % 2 ? VERMILION_RGB : BLUE_RGB, 1);
            context.strokeStyle = 'white';
            context.fill();
            context.stroke();
        }
    }

    controls.forEach((control) => control.addEventListener('change', training.again));
    bits.onRun('spiral', () => {
        controls.forEach((control, i) => { control.value = firsts[i]; });
        training.all();
    });
    training.open();
    onLanguage(draw, root);
}

// Between white and a color: the canvas is white on a dark page, too, because white is the boundary.
const BLUE_RGB = [0, 114, 178], VERMILION_RGB = [213, 94, 0];
const towards = (color, t) => `rgb(${color.map((v) => Math.round(255 + (v - 255) * Math.min(1, t))).join(',')})`;
