// Section 3: the network of examples/spiral.c learns, and its boundary moves.

function startSpiral(engine, bits) {
    const GRID = 60, POINTS = 400;
    const root = find('#spiral'), map = find('#spiral-map'), context = map.getContext('2d');
    const width = find('select.width', root);
    const last = bits.native.spiral.steps;
    let points, hash;

    const training = makeTraining(root, last, {
        begin() {
            engine.call('spiral_begin', Number(width.value));
            engine.call('spiral_data');
            [points, hash] = [Array.from(engine.numbers(2 * POINTS)), null];
        },
        train: () => engine.call('spiral_train', 1),
        ended() {
            if (Number(width.value) !== 64) return;
            engine.call('spiral_hash');
            hash = JSON.parse(engine.printed());
            bits.found('spiral', hash);
        },
        draw,
    });

    function draw() {
        drawMap();
        chart(find('#spiral-loss'), { width: 420, height: 250, x: [0, last - 1], y: [0, 0.8], xLabel: say('axis_step'),
            yLabel: say('axis_loss'), curves: [{ points: training.losses, color: BLUE }] });
        find('#spiral-state').textContent = training.words('spiral_untrained');
        find('#spiral-hash').innerHTML = hash ? bits.sentence('spiral', hash) : '';
        find('#spiral-loss').setAttribute('aria-label', find('#spiral-state').textContent);
        training.drawButtons();
        map.setAttribute('aria-label', say('spiral_map', { step: training.step }));
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

    width.addEventListener('change', training.again);
    bits.onRun('spiral', () => {
        width.value = '64';
        training.all();
    });
    training.start();
    onLanguage(draw);
}
