// Small helpers: elements, SVG, numbers, charts and heat maps. The colors are those of plots/style.gp.

// Okabe and Ito. Blue: values, the forward pass. Vermilion: gradients, the backward pass; darker for text,
// which needs more contrast.
const BLUE = '#0072B2', VERMILION = '#D55E00', VERMILION_TEXT = '#A84300', GRAY = '#555555', LIGHT = '#dddddd';

const find = (selector, inside = document) => inside.querySelector(selector);

function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
}

function svg(name, attributes = {}, ...children) {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
}

// A number with up to `digits` significant digits, and a real minus sign.
function show(x, digits = 4) {
    if (x === null || !Number.isFinite(x)) return x === null || Number.isNaN(x) ? 'NaN' : x > 0 ? '∞' : '−∞';
    const size = Math.abs(x);
    const plain = size !== 0 && (size < 1e-4 || size >= 1e6)
        ? x.toExponential(digits - 2).replace('e+', 'e').replace('e', ' × 10^')
        : String(Number(x.toPrecision(digits)));
    return plain.replace(/-/g, '−').replace(/\^(\S+)/, (_, power) => raised(power));
}

const RAISED = { '−': '⁻', '.': '·' };
const raised = (digits) => [...digits].map((d) => RAISED[d] ?? '⁰¹²³⁴⁵⁶⁷⁸⁹'[d]).join('');

// ---- charts: curves over steps ----------------------------------------------------------------------------------------

// options: { width, height, x: [from, to], y: [from, to], log, xLabel, yLabel, curves: [{ points: [[x, y], ...], color, dash,
// label, labelFirst, dots }], lines: [{ y, label }], xTicks }. The result is for people who see it; the caller writes the text
// for others.
function chart(target, o) {
    const left = 52, right = 14, top = 26, bottom = 36;
    const scale = (v, [from, to], a, b) => a + (b - a) * (v - from) / (to - from || 1);
    const toY = (v) => o.log
        ? scale(Math.log10(Math.max(v, 1e-300)), o.y.map(Math.log10), o.height - bottom, top)
        : scale(v, o.y, o.height - bottom, top);
    const atX = (v) => scale(v, o.x, left, o.width - right);
    const atY = (v) => Math.min(Math.max(toY(v), top - 4), o.height - bottom + 4);
    const parts = [];
    for (const tick of o.log ? decades(o.y) : steps(o.y)) {
        parts.push(svg('line', { x1: left, x2: o.width - right, y1: atY(tick), y2: atY(tick), stroke: LIGHT }),
            svg('text', { x: left - 6, y: atY(tick) + 4, class: 'tick', 'text-anchor': 'end' },
                o.log ? `10${raised(String(Math.round(Math.log10(tick))).replace('-', '−'))}` : show(tick)));
    }
    for (const tick of o.xTicks ?? steps(o.x)) {
        parts.push(svg('text', { x: atX(tick), y: o.height - bottom + 17, class: 'tick', 'text-anchor': 'middle' },
            show(tick)));
    }
    parts.push(svg('path', { d: `M${left},${top} V${o.height - bottom} H${o.width - right}`, fill: 'none', stroke: GRAY }),
        svg('text', { x: (left + o.width - right) / 2, y: o.height - 3, class: 'tick', 'text-anchor': 'middle' }, o.xLabel),
        svg('text', { x: 4, y: 13, class: 'tick' }, o.yLabel));
    for (const line of o.lines ?? []) {
        parts.push(svg('line', { x1: left, x2: o.width - right, y1: atY(line.y), y2: atY(line.y), stroke: GRAY,
            'stroke-dasharray': '2 4' }),
            svg('text', { x: left + 6, y: atY(line.y) - 6, class: 'tick' }, line.label));
    }
    for (const curve of o.curves) {
        const points = curve.points.filter(([, y]) => y !== null && Number.isFinite(y));
        if (points.length === 0) continue;
        const d = points.map(([x, y], i) => `${i ? 'L' : 'M'}${atX(x).toFixed(1)},${atY(y).toFixed(1)}`).join('');
        parts.push(svg('path', { d, fill: 'none', stroke: curve.color, 'stroke-width': 2.2, 'stroke-linejoin': 'round',
            'stroke-dasharray': curve.dash ?? 'none' }));
        if (curve.dots) {
            for (const [x, y] of points) parts.push(svg('circle', { cx: atX(x), cy: atY(y), r: 3.5, fill: curve.color }));
        }
        if (curve.label) {
            const [x, y] = points[curve.labelFirst ? 0 : points.length - 1];
            const inside = atX(x) > o.width - right - 60;
            parts.push(svg('text', { x: atX(x) + (inside ? -4 : 6), y: atY(y) + (curve.labelFirst ? 18 : -7),
                fill: curve.color === VERMILION ? VERMILION_TEXT : curve.color, class: 'curve',
                'text-anchor': inside ? 'end' : 'start' }, curve.label));
        }
    }
    target.setAttribute('viewBox', `0 0 ${o.width} ${o.height}`);
    target.replaceChildren(...parts);
}

function decades([from, to]) {
    const all = [];
    const first = Math.ceil(Math.log10(from) - 1e-9), last = Math.floor(Math.log10(to) + 1e-9);
    const stride = Math.max(1, Math.ceil((last - first) / 6));
    for (let e = first; e <= last; e += stride) all.push(10 ** e);
    return all;
}

function steps([from, to]) {
    const rough = (to - from) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const stride = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= rough);
    const all = [];
    for (let v = Math.ceil(from / stride) * stride; v <= to + 1e-9; v += stride) all.push(Number(v.toPrecision(12)));
    return all;
}

// ---- heat maps -------------------------------------------------------------------------------------------------------

const mix = (a, b, t) => a.map((v, i) => Math.round(v + (b[i] - v) * t));
const rgb = (c) => `rgb(${c.join(',')})`;
const WHITE = [255, 255, 255], BLUE_RGB = [0, 114, 178], VERMILION_RGB = [213, 94, 0];

// 0 white, 1 blue: for weights.
const rising = (t) => rgb(mix(WHITE, BLUE_RGB, Math.min(1, t)));
// Negative blue, 0 white, positive vermilion: for values and gradients.
const signed = (t) => rgb(t < 0 ? mix(WHITE, BLUE_RGB, Math.min(1, -t)) : mix(WHITE, VERMILION_RGB, Math.min(1, t)));

// A matrix as cells of `size` pixels. options: { color, size, rowLabels, columnLabels }.
function heatMap(target, values, columns, o) {
    const rows = values.length / columns, size = o.size;
    const left = o.rowLabels ? 20 : 1, top = o.columnLabels ? 18 : 1;
    const parts = [];
    for (let i = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++) {
            parts.push(svg('rect', { x: left + j * size, y: top + i * size, width: size - 1, height: size - 1,
                fill: o.color(values[i * columns + j]), stroke: '#e4e4e4', 'stroke-width': 0.6 }));
        }
    }
    (o.columnLabels ?? []).forEach((label, j) => parts.push(svg('text', { x: left + (j + 0.5) * size, y: top - 5,
        class: 'cell', 'text-anchor': 'middle' }, label)));
    (o.rowLabels ?? []).forEach((label, i) => parts.push(svg('text', { x: left - 6, y: top + (i + 0.5) * size + 4,
        class: 'cell', 'text-anchor': 'end' }, label)));
    const width = left + columns * size + 1, height = top + rows * size + 1;
    target.setAttribute('viewBox', `0 0 ${width} ${height}`);
    target.setAttribute('width', width);
    target.setAttribute('height', height);
    target.replaceChildren(...parts);
}
