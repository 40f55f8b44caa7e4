// The state of the page, which a link holds: "#race?depth=8&seed=2&lang=ja". A control with data-keep="depth" is in the link
// by itself, anything else by keep(). The link leaves out what is as at first. A reload or another reader finds the same page.

const kept = new Map();                                     // name -> { first, get }
const link = readLink();                                    // what the page was opened with
let whereNow = () => '';                                    // the section in view; see lecture.js
let writing = 0;

function readLink() {
    const [section, query = ''] = location.hash.slice(1).split(/\?(.*)/s);
    return { section, values: new URLSearchParams(query) };
}

// The link gets the text that get() returns, unless it is still `first`. Returns what the link has now, or null.
function keep(name, first, get) {
    kept.set(name, { first, get });
    return link.values.get(name);
}

// The controls get the values of the link, if they can have them.
function keepControls() {
    for (const control of document.querySelectorAll('[data-keep]')) {
        const [property, read] = control.type === 'checkbox' ? ['checked', (text) => text === 'true'] : ['value', String];
        const first = control[property];
        const wanted = keep(control.dataset.keep, String(first), () => String(control[property]));
        if (wanted !== null) control[property] = read(wanted);
        if (control.maxLength > 0) control.value = control.value.slice(0, control.maxLength);
        if (control[property] === '' || !control.checkValidity()) control[property] = first;
        restoreInvalid(control);
    }
    for (const event of ['input', 'change']) document.addEventListener(event, noteChange);
}

// A control that is left with a value that it cannot have gets its last good one, before the figures see the change.
function restoreInvalid(control) {
    let good = control.value;
    const note = () => { if (control.checkValidity()) good = control.value; };
    control.addEventListener('focus', note);                // the page itself may have changed it
    control.addEventListener('change', () => {
        note();
        control.value = good;
    });
}

// Browsers refuse many new addresses in a short time, so changes wait for the next one.
function noteChange() {
    writing ||= setTimeout(writeLink, 500);
}

function writeLink() {
    clearTimeout(writing);
    writing = 0;
    const values = [...kept].map(([name, { first, get }]) => [name, first, get()]).filter(([, first, now]) => now !== first);
    const query = String(new URLSearchParams(values.map(([name, , now]) => [name, now])));
    history.replaceState(null, '', `#${whereNow()}${query && `?${query}`}`);
}

// Another link in the same window.
addEventListener('hashchange', () => location.reload());
