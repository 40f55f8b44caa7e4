// Two languages. Elements with data-text="key" show texts[key]; scripts call say(key, numbers) and draw again in onLanguage.

const LANGUAGES = ['en', 'ja'];                             // the places in each pair of texts
let language = 0;
const redraws = [];

function addTexts(more) {
    for (const key of Object.keys(more)) if (texts[key]) throw new Error(`there are two texts ${key}`);
    Object.assign(texts, more);
}

// The text of that key with {name} replaced by a value, and {#race} by the number of the section. Texts may have HTML; what is
// put in must not.
function say(key, values = {}) {
    const pair = texts[key];
    if (!pair) throw new Error(`there is no text ${key}`);
    return pair[language].replace(/\{#(\w+)\}/g, (_, id) => numberOf(id)).replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// The library writes its rules in English: the few words in them.
const RULE_WORDS = [[/at the target, else 0/g, '（正解の位置。ほかは0）'],
    [/(\S+) where (\S+) > 0, else 0/g, '$1（$2 > 0 のとき。それ以外は0）'],
    [/sum of (\w+) over rows/g, '$1 を全行について足した和'], [/sum of (\w+) over the places where (\w+) is (\w+)/g,
        '$2 が $3 である場所すべてについての $1 の和'], [/(\w+) permuted back/g, '$1 を元の順序に戻したもの'],
    [/(\w+) in (\w+)'s shape/g, '$1 を $2 の形にしたもの'], [/ with (?=\w+ =)/g, '、ただし '], [/sum of (\w+)/g, '$1 の和'],
    [/sum (\w+ \w+)/g, '$1 の和'], [/sum (\w+)/g, '$1 の和'], [/mean ?(?=\(| \w)/g, '平均 '], [/mean/g, '平均'],
    [/deviation/g, '標準偏差']];

function inLanguage(rule) {
    return language === 0 ? rule : RULE_WORDS.reduce((text, [words, japanese]) => text.replace(words, japanese), rule);
}

// Calls draw now and whenever the language changes, or the room; in a lecture only if it is the one of that section.
function onLanguage(draw, section = null) {
    redraws.push({ draw, section });
    draw();
}

const drawAgain = () => redraws.forEach(({ draw, section }) => { if (!lecture || !section || section === shown) draw(); });

function setLanguage(index) {
    language = index;
    document.documentElement.lang = LANGUAGES[index];
    document.title = say('title');
    for (const one of document.querySelectorAll('[data-text]')) one.innerHTML = say(one.dataset.text);
    for (const one of document.querySelectorAll('[data-label]')) one.setAttribute('aria-label', say(one.dataset.label));
    document.querySelectorAll('#languages button').forEach((b, i) => b.setAttribute('aria-pressed', String(i === index)));
    drawAgain();
    noteChange();
}

// The language of the link, or that of the browser.
function startLanguage() {
    document.querySelectorAll('#languages button').forEach((b, i) => b.addEventListener('click', () => setLanguage(i)));
    const wanted = keep('lang', '', () => LANGUAGES[language]) ?? navigator.language.slice(0, 2);
    setLanguage(Math.max(0, LANGUAGES.indexOf(wanted)));
}
