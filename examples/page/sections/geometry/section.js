// Self-attention in the plane: examples/attention_geometry.c with words that can be dragged.

function startGeometry(engine) {
    const SIZE = 480, REACH = 2.6, WORDS = 4;
    const root = find('#geometry'), plane = find('#plane');
    const temperature = find('#temperature'), layers = find('#layers');
    let words = [];
    const toX = (x) => (x / REACH + 1) * SIZE / 2, toY = (y) => (1 - y / REACH) * SIZE / 2;
    const clamp = (v) => Math.min(Math.max(v, -2.4), 2.4);

    const polygons = svg('g');
    const grips = Array.from({ length: WORDS }, (_, i) => {
        const grip = svg('g', { class: 'word', tabindex: 0, role: 'slider', 'aria-valuemin': -2.4, 'aria-valuemax': 2.4 },
            svg('circle', { r: 22, fill: 'transparent' }),
            svg('circle', { class: 'grip', r: 8, fill: PAPER, stroke: INK, 'stroke-width': 2 }),
            svg('text', { y: -14, 'text-anchor': 'middle' }));
        grip.addEventListener('pointerdown', (event) => {
            grip.setPointerCapture(event.pointerId);
            grip.focus();
            event.preventDefault();
        });
        grip.addEventListener('pointermove', (event) => {
            if (!grip.hasPointerCapture(event.pointerId)) return;
            const box = plane.getBoundingClientRect();
            move(i, ((event.clientX - box.left) / box.width * 2 - 1) * REACH,
                (1 - (event.clientY - box.top) / box.height * 2) * REACH);
        });
        grip.addEventListener('keydown', (event) => {
            const d = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
            if (!d || withCommand(event)) return;
            const far = event.shiftKey ? 0.5 : 0.1;
            move(i, words[2 * i] + far * d[0], words[2 * i + 1] + far * d[1]);
            event.preventDefault();
        });
        return grip;
    });
    plane.append(
        svg('path', { d: `M0,${SIZE / 2} H${SIZE} M${SIZE / 2},0 V${SIZE}`, stroke: LINE }),
        polygons, ...grips);

    function move(i, x, y) {
        words[2 * i] = clamp(x);
        words[2 * i + 1] = clamp(y);
        draw();
        noteChange();
    }

    function draw() {
        const t = 2 ** Number(temperature.value), n = Number(layers.value), room = lectureRoom(plane);
        plane.style.setProperty('--letters', room ? `${12 * SIZE / Math.min(...room)}px` : '');
        const names = say('geometry_words').split(' ');
        find('output[for=temperature]').textContent = show(t, 2);
        find('#temperature').setAttribute('aria-valuetext', show(t, 2));
        find('output[for=layers]').textContent = n;
        engine.numbers(2 * WORDS).set(words);
        const result = engine.json('geometry_attend', t, n);
        const corner = (p, i) => `${toX(p[2 * i]).toFixed(1)},${toY(p[2 * i + 1]).toFixed(1)}`;
        const corners = (p) => names.map((_, i) => corner(p, i)).join(' ');
        polygons.replaceChildren(...result.layers.flatMap(({ points }, k) => [
            svg('polygon', { points: corners(points), fill: k ? BLUE : 'none', 'fill-opacity': k ? 0.14 : 0,
                stroke: k ? BLUE : GRAY, 'stroke-width': k ? 2 : 1.5, 'stroke-dasharray': k ? 'none' : '5 4' }),
            ...(k === 1 ? names.map((_, i) => svg('line', { x1: toX(words[2 * i]), y1: toY(words[2 * i + 1]),
                x2: toX(points[2 * i]), y2: toY(points[2 * i + 1]), stroke: GRAY, 'stroke-dasharray': '1 4' })) : [])]));
        grips.forEach((grip, i) => {
            const [x, y] = [words[2 * i], words[2 * i + 1]];
            grip.setAttribute('transform', `translate(${toX(x)},${toY(y)})`);
            grip.setAttribute('aria-label', say('geometry_word', { word: names[i] }));
            grip.setAttribute('aria-valuenow', x.toFixed(1));
            grip.setAttribute('aria-valuetext', `x ${show(x, 2)}, y ${show(y, 2)}`);
            grip.lastChild.textContent = names[i];
        });
        const kept = 100 * result.areas[n] / result.areas[0];
        find('#geometry-area').innerHTML = say(n === 1 ? 'geometry_area' : 'geometry_area_layers',
            { n, kept: Number.isFinite(kept) ? show(kept, 3) : '–' });
        const weights = result.layers[1].weights;
        const cell = (p) => `<td style="background:rgb(var(--blue-rgb) / ${(0.45 * p).toFixed(3)})">${p.toFixed(3)}</td>`;
        const row = (word, i) => `<tr><th scope="row">${word}</th>`
            + `${weights.slice(WORDS * i, WORDS * (i + 1)).map(cell).join('')}</tr>`;
        const head = names.map((word) => `<th scope="col">${word}</th>`).join('');
        find('#geometry-weights').innerHTML = `<thead><tr><td></td>${head}</tr></thead>`
            + `<tbody>${names.map(row).join('')}</tbody>`;
    }

    const wordsText = () => words.map((v) => v.toFixed(2)).join(' ');
    function begin() {
        engine.call('geometry_words');
        words = Array.from(engine.numbers(2 * WORDS));
    }
    temperature.addEventListener('input', draw);
    layers.addEventListener('input', draw);
    find('.again', root).addEventListener('click', () => {
        begin();
        [temperature.value, layers.value] = [0, 1];
        draw();
        noteChange();
    });
    begin();
    const wanted = (keep('words', wordsText(), wordsText) ?? '').split(' ').map(Number);
    if (wanted.length === 2 * WORDS && wanted.every(Number.isFinite)) words = wanted.map(clamp);
    onLanguage(draw, root);
}
