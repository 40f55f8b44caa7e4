// Two ways to connect the blocks, f(x) and x + f(x) at first, by depth, initial weights and seeds.

function startRace(engine) {
    const STEPS = 200, NORMS_EACH = 10, DEPTHS = [1, 2, 3, 4, 6, 8, 12, 16, 24];
    const LOOKS = [{ color: VERMILION, dash: '9 5' }, { color: BLUE }];
    const root = find('#race'), depth = find('#race-depth'), what = find('.what', root);
    const controls = ['init', 'target', 'width', 'seeds', 'seed'];
    const [init, target, width, seeds, seed] = controls.map((name) => find(`.${name}`, root));
    const rows = [...root.querySelectorAll('.rows')];
    let losses = [];                                        // of each step: a pair for each seed
    let norms = [];                                         // of each seed: a pair, at the step that is shown
    let found = new Map(), queue = [], hurry = false;
    const races = () => Array.from({ length: Number(seeds.value) }, (_, k) => k);

    const training = makeTraining(root, {
        name: 'race-step',
        last: () => STEPS,
        begin() {
            for (const k of races()) {
                engine.call('race_begin', k, ...[depth.value, width.value, Number(seed.value) + k, init.selectedIndex,
                    target.value].map(Number), ...placesOf(engine, rows));
            }
            losses = [];
        },
        train() {
            losses.push(races().map((k) => engine.json('race_train', k)));
            return middle(losses[losses.length - 1].map(([first]) => first));
        },
        save() {
            if (losses.length % NORMS_EACH === 0) norms = races().map((k) => engine.json('race_norms', k));
            return norms;
        },
        restore(saved) { norms = saved; },
        ended() {
            found.set(Number(depth.value), losses[STEPS - 1]);
            if (queue.length === 0) {
                hurry = false;
            } else {
                depth.value = queue.shift();
                training.start();
            }
        },
        again() { [queue, hurry] = [[], false]; },
        hurry: () => hurry,
        draw,
    });

    // A curve with the middle of all seeds and a band from the least to the largest: at(step) has a number for each seed.
    function curve(kind, xs, at) {
        const all = xs.map(at);
        return { ...kind, points: xs.map((x, i) => [x, middle(all[i])]),
            band: all[0]?.length > 1 ? xs.map((x, i) => [x, Math.min(...all[i]), Math.max(...all[i])]) : [] };
    }

    const decadesAround = (numbers) => {
        const seen = numbers.filter((v) => v > 0 && Number.isFinite(v)).map(Math.log10);
        if (seen.length === 0) return [0.1, 1];
        return [10 ** Math.floor(Math.min(...seen)), 10 ** Math.ceil(Math.max(...seen) + 1e-9)];
    };

    function draw() {
        const kinds = rowNames(rows).map((label, i) => ({ label, ...LOOKS[i] })), [a, b] = kinds.map(({ label }) => label);
        const shown = training.shown, nothing = { y: 1, label: say('race_nothing') };
        find('output[for=race-depth]').textContent = depth.value;
        const lossRange = (all) => [1e-5, Math.max(10, decadesAround([1, ...all.flat(2)])[1])];
        chart(find('#race-loss'), { height: 300, x: [0, STEPS], y: lossRange(losses), log: true,
            xLabel: say('axis_step'), yLabel: say('axis_loss'), lines: [nothing], marker: training.marker,
            curves: kinds.map((kind, i) => curve(kind, [...losses.keys()], (step) => losses[step].map((pair) => pair[i]))) });

        const blocks = norms[0][0].gradient.length - 1, of = (i) => norms.map((pair) => pair[i][what.value]);
        chart(find('#race-norm'), { height: 300, x: [0, blocks], log: true,
            y: decadesAround([of(0), of(1)].flat(2)),
            xTicks: blocks <= 8 ? Array.from({ length: blocks + 1 }, (_, i) => i) : undefined, xLabel: say('race_block'),
            yLabel: say(`race_norm_${what.value}`, { step: shown - shown % NORMS_EACH }),
            curves: kinds.map((kind, i) => ({ dots: true,
                ...curve(kind, Array.from({ length: blocks + 1 }, (_, n) => n), (n) => of(i).map((row) => row[n])) })) });

        const depths = [...found.keys()].sort((a, b) => a - b);
        chart(find('#race-found'), { widest: 900, height: 260, x: [0, 24],
            y: lossRange([...found.values()]), log: true, xLabel: say('race_depth'),
            yLabel: say('race_final'), lines: [nothing], xTicks: [1, 2, 4, 6, 8, 12, 16, 20, 24],
            curves: kinds.map((kind, i) => ({ dots: true,
                ...curve(kind, depths, (d) => found.get(d).map((pair) => pair[i])) })) });

        const pair = (all) => ({ a, b, first: show(middle(all.map((p) => p[0])), 3),
            second: show(middle(all.map((p) => p[1])), 3) });
        const state = shown === 0 ? say('race_ready', { depth: depth.value })
            : say('race_state', { depth: depth.value, step: shown, ...pair(losses[shown - 1]) });
        // Screen readers hear the end of a race, not each frame.
        find('#race-state').textContent = training.running ? say('race_running', { depth: depth.value }) : state;
        find('#race-loss').setAttribute('aria-label', state);
        const ends = (i) => [0, blocks].map((n) => show(middle(of(i).map((row) => row[n])), 2)).join(say('race_to'));
        find('#race-norm').setAttribute('aria-label', say('race_norm_text', { n: blocks, a, b, first: ends(0),
            second: ends(1) }));
        find('#race-found').setAttribute('aria-label', depths.map((d) =>
            say('race_result', { depth: d, ...pair(found.get(d)) })).join(' ') || say('race_none'));
        training.drawButtons();
    }

    find('.all', root).addEventListener('click', () => {
        depth.value = DEPTHS[0];
        training.again();
        [queue, hurry] = [DEPTHS.slice(1), true];
        training.run();
    });
    depth.addEventListener('input', training.again);
    for (const control of [init, target, width, seeds, seed, ...rows]) {
        control.addEventListener('change', () => { found = new Map(); training.again(); });
    }
    what.addEventListener('change', draw);
    training.open();
    onLanguage(draw, root);
}

// The median; of an even number, the mean of the two in the middle.
function middle(numbers) {
    const sorted = [...numbers].sort((a, b) => a - b), n = sorted.length;
    return n % 2 ? sorted[(n - 1) / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}
