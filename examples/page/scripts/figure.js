// What each figure has: buttons that save it as a picture, and one that copies a link to it as it is.

function startFigures() {
    for (const figure of document.querySelectorAll('.figure')) {
        const button = (key, act) => {
            const made = element('button', { type: 'button', 'data-text': key });
            made.addEventListener('click', act);
            return made;
        };
        const told = element('span', { role: 'status' });
        onLanguage(() => { told.textContent = ''; });
        const name = `kaeru_${figure.closest('section').id}`;
        figure.append(element('div', { class: 'tools' }, element('span', { 'data-text': 'save_figure' }),
            button('save_svg', () => download(figureBlob(figure), `${name}.svg`)),
            button('save_png', async () => download(await figurePng(figure), `${name}.png`)),
            button('copy_link', async () => {
                writeLink();
                const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
                told.textContent = say(copied ? 'link_copied' : 'link_in_bar');
            }), told));
    }
}

function download(blob, name) {
    const to = element('a', { href: URL.createObjectURL(blob), download: name });
    to.click();
    setTimeout(() => URL.revokeObjectURL(to.href), 10000);
}

const figureBlob = (figure) => new Blob([new XMLSerializer().serializeToString(figureSvg(figure))], { type: 'image/svg+xml' });

// Three pixels for each of the page, enough for a slide.
async function figurePng(figure) {
    const picture = new Image(), url = URL.createObjectURL(figureBlob(figure));
    picture.src = url;
    await picture.decode();
    URL.revokeObjectURL(url);
    const canvas = element('canvas', { width: 3 * picture.naturalWidth, height: 3 * picture.naturalHeight });
    canvas.getContext('2d').drawImage(picture, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}

// ---- a figure as one SVG without a style sheet ----------------------------------------------------------------------------

// Other programs know neither the page's style sheet nor HTML inside SVG. So each thing that is seen is drawn where it is:
// pictures, backgrounds and frames, and texts line by line. Controls stay out.
const NOT_SAVED = '.controls, .hint, .stepper, .tools, .leaf input, button, [hidden]';
const STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'font-size', 'font-weight',
    'font-family', 'font-style', 'text-anchor', 'paint-order'];

function figureSvg(figure) {
    const frame = figure.getBoundingClientRect(), margin = 16;
    const tools = find('.tools', figure).getBoundingClientRect();
    const [width, height] = [Math.ceil(frame.width), Math.ceil(tools.top - frame.top)];
    const at = (box) => ({ x: box.left - frame.left, y: box.top - frame.top, width: box.width, height: box.height });
    const made = [];
    const walk = (node) => {
        if (node.nodeType === Node.TEXT_NODE) {
            made.push(...textLines(node, at));
        } else if (node.nodeType === Node.ELEMENT_NODE && !node.matches(NOT_SAVED) && isSeen(node)) {
            const box = at(node.getBoundingClientRect());
            if (node.localName === 'svg') {
                made.push(styledCopy(node, box));
            } else if (node.localName === 'textarea') {
                made.push(...frameOf(node, box), ...writtenLines(node, box));
            } else if (node.localName === 'canvas') {
                made.push(svg('image', { ...box, href: node.toDataURL() }));
            } else {
                if (node !== figure) made.push(...frameOf(node, box));
                node.childNodes.forEach(walk);
            }
        }
    };
    walk(figure);
    const top = Math.max(0, Math.min(...made.map((e) => Number(e.getAttribute('y')) || 0)) - margin);
    const paper = getComputedStyle(document.body).backgroundColor;
    return svg('svg', { viewBox: `0 ${top} ${width} ${height - top}`, width, height: height - top },
        svg('rect', { y: top, width, height: height - top, fill: paper }), ...made);
}

// Whether it is drawn, and not scrolled out of what is around it.
function isSeen(node) {
    if (!node.getClientRects().length) return false;
    const box = node.getBoundingClientRect(), around = node.parentElement, frame = around.getBoundingClientRect();
    return getComputedStyle(around).overflowY !== 'auto' || box.top >= frame.top && box.bottom <= frame.bottom;
}

function styledCopy(picture, box) {
    const copy = picture.cloneNode(true);
    const originals = [picture, ...picture.querySelectorAll('*')], copies = [copy, ...copy.querySelectorAll('*')];
    originals.forEach((original, i) => {
        const style = getComputedStyle(original);
        for (const name of STYLES) copies[i].setAttribute(name, style.getPropertyValue(name));
        for (const name of ['class', 'style', 'tabindex', 'role']) copies[i].removeAttribute(name);
    });
    for (const [name, value] of Object.entries(box)) copy.setAttribute(name, value);
    return copy;
}

function frameOf(node, box) {
    const style = getComputedStyle(node), border = parseFloat(style.borderBottomWidth);
    const empty = style.backgroundColor === 'rgba(0, 0, 0, 0)';
    if (empty && !border) return [];
    return [svg('rect', { ...box, fill: empty ? 'none' : style.backgroundColor, rx: parseFloat(style.borderRadius) || 0,
        stroke: border ? style.borderBottomColor : 'none', 'stroke-width': border })];
}

const textLook = (style) => ({ fill: style.color, 'font-size': style.fontSize, 'font-weight': style.fontWeight,
    'font-family': style.fontFamily, 'font-style': style.fontStyle });

// What a reader has written into an area.
function writtenLines(area, box) {
    const style = getComputedStyle(area), height = parseFloat(style.lineHeight);
    const lines = area.value.split('\n').map((line, i) => svg('text', { x: parseFloat(style.paddingLeft) - area.scrollLeft,
        y: parseFloat(style.paddingTop) - area.scrollTop + (i + 0.75) * height, ...textLook(style) }, line));
    return [svg('svg', box, ...lines)];                     // which shows nothing outside of its box
}

// A text element for each line of a text node.
function textLines(node, at) {
    const style = getComputedStyle(node.parentElement), range = document.createRange(), lines = [];
    for (let i = 0; i < node.length; i++) {
        range.setStart(node, i);
        range.setEnd(node, i + 1);
        const box = range.getClientRects()[0];
        if (!box?.width) continue;
        const last = lines[lines.length - 1];
        if (last && Math.abs(last.box.top - box.top) < 2) last.text += node.data[i];
        else if (node.data[i].trim()) lines.push({ box, text: node.data[i] });      // SVG drops a space at the beginning
    }
    return lines.map(({ box, text }) => {
        const { x, y, height } = at(box);
        return svg('text', { x, y: y + 0.78 * height, ...textLook(style) }, text.trimEnd());
    });
}
