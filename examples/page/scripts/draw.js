// Small helpers: elements, SVG, numbers, charts and heat maps. The colors are those of plots/style.gp.

// Okabe and Ito. Blue: values, the forward pass. Vermilion: gradients, the backward pass; darker for text, which needs more
// contrast. The style sheet has these colors, because dark and printed pages have others.
const BLUE = 'var(--blue)', VERMILION = 'var(--vermilion)', VERMILION_TEXT = 'var(--vermilion-text)';
const INK = 'var(--ink)', GRAY = 'var(--gray)', EDGE = 'var(--edge)', LINE = 'var(--line)', SOFT = 'var(--soft)';
const PAPER = 'var(--paper)';

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

// A key with one of these is the browser's, such as Alt and the left arrow for the page before.
const withCommand = (event) => event.altKey || event.ctrlKey || event.metaKey;

const RAISED = { '−': '⁻', '.': '·' };
const raised = (digits) => [...digits].map((d) => RAISED[d] ?? '⁰¹²³⁴⁵⁶⁷⁸⁹'[d]).join('');

const subscript = (digits) => [...digits].map((d) => '₀₁₂₃₄₅₆₇₈₉'[d]).join('');

// How many pixels a unit of a picture has in a lecture: 12 units, the smallest letters of pictures, are as high as the texts.
const lectureZoom = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 12;

// The width and the height, in units, of a picture of a lecture: what the style sheet leaves for it. Null outside of lectures.
function lectureRoom(target) {
    if (!lecture || !target.clientHeight) return null;
    return [target.clientWidth / lectureZoom(), target.clientHeight / lectureZoom()];
}

// The width and the height in which a chart is drawn: as its place, so that its letters have their size; in a place wider than
// `widest` they grow. In a lecture it fills its place.
function sizeOf(target, height, widest = 420) {
    return lectureRoom(target) ?? [Math.min(Math.max(target.clientWidth || widest, 250), widest), height];
}

// ---- charts: curves over steps ----------------------------------------------------------------------------------------

// options: { widest, height, x: [from, to], y: [from, to], log, xLabel, yLabel, curves, lines: [{ y, label }], xTicks,
// marker }. curves: [{ points: [[x, y], ...], band: [[x, least, most], ...], color, dash, label, dots }]. `label` is written
// in the upper right corner, below yLabel if there is no room beside it; `marker` is an x with a vertical line. The result is
// for people who see it; the caller writes the text for others.
function chart(target, o) {
    const [width, height] = sizeOf(target, o.height, o.widest);
    const labeled = o.curves.filter((c) => c.label), names = labeled.reduce((sum, { label }) => sum + legendWidth(label), 0);
    const crowded = labeled.length > 0 && textWidth(o.yLabel) + names > width - 24, line = crowded ? 18 : 0;
    const left = 52, right = 14, top = 30 + line, bottom = 36;
    const scale = (v, [from, to], a, b) => a + (b - a) * (v - from) / (to - from || 1);
    const toY = (v) => o.log
        ? scale(Math.log10(Math.max(v, 1e-300)), o.y.map(Math.log10), height - bottom, top)
        : scale(v, o.y, height - bottom, top);
    const atX = (v) => scale(v, o.x, left, width - right);
    const atY = (v) => Math.min(Math.max(toY(v), top - 4), height - bottom + 4);
    const parts = [];
    const lines = Math.max(1, Math.min(5, Math.floor((height - top - bottom) / 16)));
    for (const tick of o.log ? decades(o.y, lines + 1) : steps(o.y, lines)) {
        parts.push(svg('line', { x1: left, x2: width - right, y1: atY(tick), y2: atY(tick), stroke: LINE }),
            svg('text', { x: left - 6, y: atY(tick) + 4, class: 'tick', 'text-anchor': 'end' },
                o.log ? `10${raised(String(Math.round(Math.log10(tick))).replace('-', '−'))}` : show(tick)));
    }
    for (const tick of o.xTicks ?? steps(o.x)) {
        parts.push(svg('text', { x: atX(tick), y: height - bottom + 17, class: 'tick', 'text-anchor': 'middle' },
            show(tick)));
    }
    parts.push(svg('path', { d: `M${left},${top} V${height - bottom} H${width - right}`, fill: 'none', stroke: GRAY }),
        svg('text', { x: (left + width - right) / 2, y: height - 3, class: 'tick', 'text-anchor': 'middle' }, o.xLabel),
        svg('text', { x: 4, y: 13, class: 'tick' }, o.yLabel));
    for (const line of o.lines ?? []) {
        parts.push(svg('line', { x1: left, x2: width - right, y1: atY(line.y), y2: atY(line.y), stroke: GRAY,
            'stroke-dasharray': '2 4' }),
            svg('text', { x: left + 6, y: atY(line.y) - 6, class: 'tick' }, line.label));
    }
    if (o.marker !== undefined) {
        parts.push(svg('line', { x1: atX(o.marker), x2: atX(o.marker), y1: top, y2: height - bottom, stroke: INK,
            'stroke-width': 1.2, class: 'marker' }));
    }
    const seen = ([, ...y]) => y.every((v) => v !== null && Number.isFinite(v));
    const path = (points) => points.map(([x, y], i) => `${i ? 'L' : 'M'}${atX(x).toFixed(1)},${atY(y).toFixed(1)}`).join('');
    for (const curve of o.curves) {
        const band = (curve.band ?? []).filter(seen), points = curve.points.filter(seen);
        if (band.length > 1) {
            const edge = [...band.map(([x, , most]) => [x, most]), ...band.map(([x, least]) => [x, least]).reverse()];
            parts.push(svg('path', { d: `${path(edge)}Z`, fill: curve.color, 'fill-opacity': 0.2, class: 'band' }));
        }
        if (points.length === 0) continue;
        parts.push(svg('path', { d: path(points), fill: 'none', stroke: curve.color, 'stroke-width': 2.2,
            'stroke-linejoin': 'round', 'stroke-dasharray': curve.dash ?? 'none' }));
        if (curve.dots) {
            for (const [x, y] of points) parts.push(svg('circle', { cx: atX(x), cy: atY(y), r: 3.5, fill: curve.color }));
        }
    }
    parts.push(...legend(labeled, width - right, line));
    target.setAttribute('viewBox', `0 0 ${width} ${height}`);
    target.replaceChildren(...parts);
}

// About how wide a text of the class tick is.
const textWidth = (text) => [...text].reduce((sum, letter) => sum + (letter > '⺀' ? 12 : 6.8), 0);
const legendWidth = (label) => textWidth(label) + 42;       // with its line, and the space before it

// The names of curves in one line, which ends at x = right and begins at y.
function legend(curves, right, y) {
    const parts = [];
    for (const { label, color, dash } of [...curves].reverse()) {
        const from = right - legendWidth(label) + 12;
        parts.push(svg('line', { x1: from, x2: from + 24, y1: y + 9, y2: y + 9, stroke: color, 'stroke-width': 2.2,
            'stroke-dasharray': dash ? '7 4' : 'none' }),
            svg('text', { x: from + 29, y: y + 13, class: 'tick' }, label));
        right -= legendWidth(label);
    }
    return parts;
}

// At most about `most` powers of ten.
function decades([from, to], most) {
    const all = [];
    const first = Math.ceil(Math.log10(from) - 1e-9), last = Math.floor(Math.log10(to) + 1e-9);
    const stride = Math.max(1, Math.ceil((last - first) / most));
    for (let e = first; e <= last; e += stride) all.push(10 ** e);
    return all;
}

function steps([from, to], most = 5) {
    const rough = (to - from) / most, power = 10 ** Math.floor(Math.log10(rough));
    const stride = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= rough);
    const all = [];
    for (let v = Math.ceil(from / stride) * stride; v <= to + 1e-9; v += stride) all.push(Number(v.toPrecision(12)));
    return all;
}

// ---- bars ---------------------------------------------------------------------------------------------------------------

// Bars for a row of numbers. options: { height, y: [from, to], color, labels, name, text }. text(v) is written at a bar; `name`
// says what the numbers are, to those who hear the figure.
function bars(target, values, o) {
    const [width, height] = sizeOf(target, o.height);
    const [from, to] = o.y, wide = width / values.length, thick = Math.min(46, 0.66 * wide);
    const top = 20, bottom = from < 0 ? 36 : 24;            // the number of a bar below 0 stands above its label
    const atY = (v) => top + (height - top - bottom) * (to - Math.min(Math.max(v, from), to)) / (to - from);
    const text = o.text ?? ((v) => show(v, 3));
    const bar = (v, i) => svg('rect', { x: (i + 0.5) * wide - thick / 2, width: thick, y: Math.min(atY(v), atY(0)),
        height: Math.max(0.5, Math.abs(atY(v) - atY(0))), fill: o.color });
    target.setAttribute('aria-label', say('numbers_text', { what: o.name,
        numbers: values.map((v, i) => `${o.labels[i]} ${text(v)}`).join(', ') }));
    target.setAttribute('viewBox', `0 0 ${width} ${height}`);
    target.replaceChildren(svg('line', { x1: 0, x2: width, y1: atY(0), y2: atY(0), stroke: GRAY }),
        ...values.map((v, i) => bar(v, i)),
        ...values.map((v, i) => svg('text', { x: (i + 0.5) * wide, y: v < 0 ? atY(v) + 14 : atY(v) - 5, class: 'tick',
            'text-anchor': 'middle' }, text(v))),
        ...o.labels.map((label, i) => svg('text', { x: (i + 0.5) * wide, y: height - 4, class: 'tick',
            'text-anchor': 'middle' }, label)));
}

// ---- heat maps -------------------------------------------------------------------------------------------------------

// A matrix as cells of `size` pixels, in a lecture as large as there is room for, with a scale below if there is room. options:
// { most, size, gap, signed, rowLabels, columnLabels, tell, text, fills }: in a lecture cells are squares, unless `fills`.
// 0 has the color of the paper and `most` is blue; or, if signed, -most is blue and most is vermilion.
// tell(row, column, value) is the text for a cell that is pointed at, touched, or reached by the arrow keys; it comes below.
function heatMap(figure, values, columns, o) {
    const picture = find('svg', figure), rows = values.length / columns, room = lectureRoom(picture);
    const left = o.rowLabels ? 20 : 1, top = o.columnLabels ? 18 : 1;
    // The names of rows need 13 units each.
    const isWide = !room || room[0] >= left + LEAST_SCALE, isHigh = !room || !o.rowLabels || room[1] - top - 37 >= 13 * rows;
    const scale = isWide && isHigh ? 36 : 0;
    let [wide, high] = [o.size, o.size];
    if (room) {
        [wide, high] = [(room[0] - left - 1) / columns, (room[1] - top - scale - 1) / rows].map((v) => Math.max(2, v));
        if (!o.fills) wide = high = Math.min(wide, high);
    }
    const { most, signed, gap } = o;
    const parts = [svg('rect', { x: left, y: top, width: columns * wide, height: rows * high, class: 'ground' })];
    for (let i = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++) {
            parts.push(svg('rect', { x: left + j * wide, y: top + i * high, width: wide - gap, height: high - gap,
                ...shade(values[i * columns + j] / most, signed) }));
        }
    }
    (o.columnLabels ?? []).forEach((label, j) => parts.push(svg('text', { x: left + (j + 0.5) * wide, y: top - 5,
        class: 'cell', 'text-anchor': 'middle' }, label)));
    (o.rowLabels ?? []).forEach((label, i) => parts.push(svg('text', { x: left - 6, y: top + (i + 0.5) * high + 4,
        class: 'cell', 'text-anchor': 'end' }, label)));
    const below = top + rows * high;
    if (scale) parts.push(...colorScale(left, below + 8, Math.min(SCALE, room ? room[0] - left - 1 : SCALE), o));
    parts.push(svg('rect', { class: 'pointed', width: wide - gap, height: high - gap, fill: 'none', visibility: 'hidden' }));
    const [width, height] = room ?? [Math.max(left + columns * wide, left + SCALE + 3) + 1, below + scale];
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    picture.setAttribute('width', width);
    picture.setAttribute('height', height);
    picture.replaceChildren(...parts);
    if (!figure.map) startPointing(figure);
    figure.map = { values, columns, rows, left, top, wide, high, tell: o.tell };
    figure.point();
}

// The color of a number between -1 and 1.
const shade = (t, signed) => ({ fill: signed && t > 0 ? VERMILION : BLUE,
    'fill-opacity': Math.min(1, Math.abs(t)).toFixed(3) });

const SCALE = 128, LEAST_SCALE = 96;                        // how wide a scale is

// A scale that is `width` wide. text(v) is written at both ends, and in the middle if there is room.
function colorScale(x, y, width, { most, signed, text = (v) => show(v, 2).replace(' × ', '×') }) {
    const pieces = 32, wide = width / pieces, from = signed ? -1 : 0;
    const ends = signed ? [[-most, 0], [0, 0.5], [most, 1]] : [[0, 0], [most / 2, 0.5], [most, 1]];
    const anchors = { 0: 'start', 0.5: 'middle', 1: 'end' };
    const [first, middle, last] = ends.map(([v]) => textWidth(text(v)));
    if (middle / 2 + Math.max(first, last) + 5 > width / 2) ends.splice(1, 1);
    return [svg('rect', { x, y, width: pieces * wide, height: 9, class: 'ground' }),
        ...Array.from({ length: pieces }, (_, i) => svg('rect', { x: x + i * wide, y, width: wide, height: 9,
            ...shade(from + (1 - from) * (i + 0.5) / pieces, signed) })),
        ...ends.map(([v, t]) => svg('text', { x: x + t * pieces * wide, y: y + 23, class: 'cell', 'text-anchor': anchors[t] },
            text(v)))];
}

// Shows the number of a cell at the mouse, at a finger, and at the keys. The figure remembers which cell it is.
function startPointing(figure) {
    const picture = find('svg', figure), told = element('output', { class: 'told' });
    let at = null;                                          // [row, column]
    figure.append(told);
    picture.setAttribute('tabindex', 0);
    picture.setAttribute('data-cells', '');
    figure.point = (to = at) => {
        const { values, columns, rows, left, top, wide, high, tell } = figure.map;
        at = to && to[0] < rows && to[1] < columns ? to : null;
        const mark = find('.pointed', picture);
        mark.setAttribute('visibility', at ? 'visible' : 'hidden');
        told.textContent = at ? tell(at[0], at[1], values[at[0] * columns + at[1]]) : '';
        if (!at) return;
        mark.setAttribute('x', left + at[1] * wide);
        mark.setAttribute('y', top + at[0] * high);
    };
    const pointer = (event) => {
        const { columns, rows, left, top, wide, high } = figure.map, box = picture.getBoundingClientRect();
        const zoom = picture.viewBox.baseVal.width / box.width;
        const column = Math.floor(((event.clientX - box.left) * zoom - left) / wide);
        const row = Math.floor(((event.clientY - box.top) * zoom - top) / high);
        if (row >= 0 && row < rows && column >= 0 && column < columns) figure.point([row, column]);
    };
    picture.addEventListener('pointermove', pointer);
    picture.addEventListener('pointerdown', pointer);
    picture.addEventListener('focus', () => figure.point(at ?? [0, 0]));
    picture.addEventListener('keydown', (event) => {
        const d = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
        if (!d || withCommand(event)) return;
        const { columns, rows } = figure.map, within = (v, n) => Math.min(Math.max(v, 0), n - 1);
        figure.point([within(at[0] + d[0], rows), within(at[1] + d[1], columns)]);
        event.preventDefault();
    });
}
