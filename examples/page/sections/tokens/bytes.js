// Tokens of byte pairs, whose bytes need not be whole characters.

const NAMES_OF_SPACE = { ' ': '␣', '\n': '↵', '\t': '⇥' };

// The text of bytes in which spaces are seen. Bytes that are no UTF-8, or control characters, are hexadecimal.
function tokenText(bytes) {
    try {
        const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes))
            .replace(/[ \n\t]/g, (c) => NAMES_OF_SPACE[c]);
        return /\p{Cc}/u.test(text) ? inHex(bytes) : text;
    } catch {
        return inHex(bytes);
    }
}

const inHex = (bytes) => bytes.map((b) => b.toString(16).padStart(2, '0')).join(' ');

// A token of the sections' lists: its text, and below it what `told` says.
const tokenElement = (bytes, told) => element('span', { class: 'token', role: 'listitem' }, element('b', {}, tokenText(bytes)),
    element('small', {}, told));

// Whether a list has more than its place on a slide.
const isTooFull = (list) => lecture && list.scrollHeight > list.clientHeight + 1;
