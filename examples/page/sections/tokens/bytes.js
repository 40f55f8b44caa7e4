// Tokens of byte pairs, whose bytes need not be whole characters.

const NAMES_OF_SPACE = { ' ': '␣', '\n': '↵', '\t': '⇥' };

// The text of bytes in which spaces are seen. Bytes that are no UTF-8 are hexadecimal.
function tokenText(bytes) {
    try {
        const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
        return text.replace(/[ \n\t]/g, (c) => NAMES_OF_SPACE[c]).replace(/\p{Cc}/gu, '\ufffd');
    } catch {
        return bytes.map((b) => b.toString(16).padStart(2, '0')).join(' ');
    }
}

// A token of the sections' lists: its text, and below it what `told` says.
const tokenElement = (bytes, told) => element('span', { class: 'token', role: 'listitem' }, element('b', {}, tokenText(bytes)),
    element('small', {}, told));
