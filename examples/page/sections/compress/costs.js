// A text whose letters are the darker, the more bits they cost. The number of a letter is told at the mouse, at a finger, and
// at the keys.

const MOST_BITS = 12;                                       // of a letter: more have the same color
const costColor = (bits) => `rgb(var(--blue-rgb) / ${(0.5 * Math.min(1, bits / MOST_BITS)).toFixed(3)})`;

// The letters of bytes with their costs: [{ text, bits }, ...], and how many bytes they are. What is no UTF-8 is a letter for
// each byte. The last letter may have to wait for its other bytes, unless `all` are there.
function lettersOf(bytes, bits, all) {
    const letters = [];
    let at = 0;
    for (let n; at < bytes.length; at += n) {
        const first = bytes[at];
        n = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
        if (at + n > bytes.length && !all) break;
        let text = '\ufffd';
        try {
            text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(at, at + n));
        } catch {
            n = 1;
        }
        letters.push({ text, bits: bits.subarray(at, at + n).reduce((sum, b) => sum + b, 0) });
    }
    return { letters, read: Math.min(at, bytes.length) };
}

// Fills `root`. Its show(bytes, bits, all) shows a text, or more of the same one if it has begun with what is shown.
function makeCosts(root) {
    const text = element('div', { class: 'letters', tabindex: 0, role: 'group', 'data-cells': '' });
    const told = element('output', { class: 'told' });
    const scale = element('p', { class: 'cost-scale' });
    root.append(text, told, scale);
    let letters = [], read = 0, at = -1;

    const point = (to) => {
        text.children[at]?.classList.remove('pointed');
        at = Math.min(to, letters.length - 1);
        text.children[at]?.classList.add('pointed');
        told.textContent = at < 0 ? '' : say('compress_letter', { bits: show(letters[at].bits, 3),
            letter: { '\n': '↵', ' ': '␣' }[letters[at].text] ?? letters[at].text, chance: show(2 ** letters[at].bits, 3) });
    };
    const pointed = (event) => {
        const letter = event.target.closest('.letters > span');
        if (letter) point([...text.children].indexOf(letter));
    };
    text.addEventListener('pointermove', pointed);
    text.addEventListener('pointerdown', pointed);
    text.addEventListener('focus', () => point(Math.max(at, 0)));
    text.addEventListener('keydown', (event) => {
        const to = { ArrowLeft: Math.max(at - 1, 0), ArrowRight: at + 1, Home: 0, End: letters.length - 1 }[event.key];
        if (to === undefined || withCommand(event)) return;
        point(to);
        text.children[at]?.scrollIntoView({ block: 'nearest' });
        event.preventDefault();
    });

    return {
        clear() {
            [letters, read] = [[], 0];
            text.replaceChildren();
            point(-1);
        },
        show(bytes, bits, all) {
            const more = lettersOf(bytes.subarray(read), bits.subarray(read), all);
            read += more.read;
            letters = letters.concat(more.letters);
            text.append(...more.letters.map((letter) => element('span', { style: `background:${costColor(letter.bits)}` },
                letter.text === '\n' ? '↵\n' : letter.text)));
        },
        label() {
            text.setAttribute('aria-label', say('compress_label', { n: letters.length }));
            scale.replaceChildren(say('compress_scale'), ...[0, 3, 6, 9, MOST_BITS].map((bits) =>
                element('span', { style: `background:${costColor(bits)}` }, bits === MOST_BITS ? `${bits}+` : String(bits))));
            point(at);
        },
    };
}
