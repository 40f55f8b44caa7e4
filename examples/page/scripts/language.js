// Two languages. Elements with data-text="key" show texts[key]; scripts call say(key, numbers) and draw again in onLanguage.

let language = 0;                                           // 0 English, 1 Japanese: the place in each pair of texts.js
const redraws = [];

// The text of that key with {name} replaced. Texts may have HTML; what is put in must not.
function say(key, values = {}) {
    const pair = texts[key];
    if (!pair) throw new Error(`there is no text ${key}`);
    return pair[language].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// Calls draw now and whenever the language changes.
function onLanguage(draw) {
    redraws.push(draw);
    draw();
}

function setLanguage(index) {
    language = index;
    document.documentElement.lang = ['en', 'ja'][index];
    document.title = say('title');
    for (const one of document.querySelectorAll('[data-text]')) one.innerHTML = say(one.dataset.text);
    for (const one of document.querySelectorAll('[data-label]')) one.setAttribute('aria-label', say(one.dataset.label));
    document.querySelectorAll('#languages button').forEach((b, i) => b.setAttribute('aria-pressed', String(i === index)));
    redraws.forEach((draw) => draw());
}

function startLanguage() {
    document.querySelectorAll('#languages button').forEach((b, i) => b.addEventListener('click', () => setLanguage(i)));
    const wanted = location.hash === '#ja' || (location.hash === '' && navigator.language.startsWith('ja'));
    setLanguage(wanted ? 1 : 0);
}
