// Layer norm and RMS norm of six numbers, forward and backward.

function startNorm(engine) {
    const N = 6, MOST = 20, FIRST = [1, 2, -1, 3, 0.5, 2.5];
    const root = find('#norm'), kind = find('.kind', root), output = find('.output', root);
    const names = FIRST.map((_, i) => `${i + 1}`);
    const firstText = FIRST.join(' ');
    const text = keep('x', firstText, () => numbers.join(' ')) ?? firstText;
    let numbers = text.split(' ').map(Number);
    if (numbers.length !== N || !numbers.every(Number.isFinite)) numbers = FIRST;

    const sliders = names.map((name, i) => {
        const slider = element('input', { type: 'range', min: -MOST, max: MOST, step: 0.1, id: `norm-${i}` });
        slider.addEventListener('input', () => set(numbers.map((v, k) => k === i ? Number(slider.value) : v)));
        const number = element('output', { for: `norm-${i}` });
        find('#norm-inputs').append(element('label', { for: `norm-${i}` }, element('i', {}, `x${subscript(name)}`)), slider,
            number);
        return { slider, number };
    });

    const changes = [['.add', (v) => v + 1], ['.double', (v) => 2 * v]].map(([name, f]) => [find(name, root), f]);

    // Sliders have one digit behind the point and end at MOST.
    function set(wanted) {
        numbers = wanted.map((v) => Math.min(Math.max(Number(v.toFixed(1)), -MOST), MOST));
        draw();
        noteChange();
    }

    function draw() {
        sliders.forEach(({ slider, number }, i) => {
            slider.value = numbers[i];
            number.textContent = show(numbers[i], 3);
        });
        for (const [button, change] of changes) setDisabled(button, numbers.some((v) => Math.abs(change(v)) > MOST));
        const at = Number(output.value), isRms = kind.value === '1';
        engine.numbers(2 * N).set([...numbers, ...names.map((_, i) => Number(i === at))]);
        const { y, dx } = engine.json('norm_look', N, Number(isRms));
        const mean = numbers.reduce((a, b) => a + b) / N, meanSquare = numbers.reduce((a, b) => a + b * b, 0) / N;
        const labels = (letter) => names.map((name) => `${letter}${subscript(name)}`);
        bars(find('#norm-y'), y, { height: 190, y: [-2.5, 2.5], color: BLUE, labels: labels('y'),
            name: say('norm_y_text') });
        const most = Math.max(...dx.map(Math.abs)) || 1;
        bars(find('#norm-dx'), dx, { height: 170, y: [-most, most], color: VERMILION, labels: labels('dx'),
            name: say('norm_dx', { y: `y${subscript(names[at])}` }) });
        find('#norm-numbers').innerHTML = isRms ? say('norm_rms', { root: show(Math.sqrt(meanSquare)) })
            : say('norm_mean', { mean: show(mean), deviation: show(Math.sqrt(Math.max(0, meanSquare - mean * mean))) });
        find('#norm-heading').innerHTML = say('norm_dx', { y: `y${subscript(names[at])}` });
        const near0 = (v) => show(Math.abs(v) < 1e-5 * most * N ? 0 : v, 3);
        const sums = say('norm_sums', { sum: near0(dx.reduce((a, b) => a + b)),
            product: near0(dx.reduce((sum, v, i) => sum + v * numbers[i], 0)) });
        find('#norm-sums').innerHTML = sums;
    }

    changes.forEach(([button, change]) => button.addEventListener('click', () => set(numbers.map(change))));
    find('.again', root).addEventListener('click', () => set(FIRST));
    kind.addEventListener('change', draw);
    output.addEventListener('change', draw);
    onLanguage(draw, root);
}
