// browser_test.js CHROMIUM PAGE_HTML FILE.k [PICTURES]: the page in a browser: by keyboard, mouse and finger; links and
// reloads; training with its history and the hashes; a lecture; dark, printed and on a phone; in both languages, without a
// complaint in the console. A reader chooses FILE.k. Pictures go to that folder.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { that, same, finish } = require('./checks.js');
const { open } = require('./browser.js');

const [, , program, page, packed, pictures] = process.argv;
const url = (link) => `file://${encodeURI(path.resolve(page))}#${link}`;
const SECTIONS = JSON.parse(fs.readFileSync(path.join(__dirname, '../../examples/page/make.py'), 'utf8')
    .match(/^SECTIONS = (\[[^\]]*\])/m)[1]);
const text = (selector) => `document.querySelector(${JSON.stringify(selector)}).textContent`;
const READY = "document.body?.classList.contains('ready')";
const LONG = 300;                                           // seconds, for a machine that does many other things

async function ready(link, size) {
    const browser = await open(program, url(link), size);
    await browser.until(READY);
    return browser;
}

// Chooses a value of a control, as a reader does.
const choose = (browser, selector, value) => browser.value(`(() => {
    const control = document.querySelector(${JSON.stringify(selector)});
    control.value = ${JSON.stringify(value)};
    for (const event of ['input', 'change']) control.dispatchEvent(new Event(event, { bubbles: true }));
})()`);

// Presses Tab until the element has the focus.
async function tabTo(browser, selector) {
    for (let i = 0; i < 400; i++) {
        if (await browser.value(`document.activeElement?.matches(${JSON.stringify(selector)}) ?? false`)) return true;
        await browser.key('Tab');
    }
    return false;
}

// Everything that can have the focus is reached by Tab, and has a name and a visible mark there.
async function walk(browser, what) {
    const all = await browser.value(`[...document.querySelectorAll(
        'a[href], button, input, select, textarea, summary, [tabindex="0"]')]
        .filter((e) => !e.disabled && e.getClientRects().length).length`);
    const seen = new Set();
    for (let i = 0; i < all + 5; i++) {
        await browser.key('Tab');
        const at = await browser.value(`(() => {
            const e = document.activeElement;
            if (!e || e === document.body) return null;
            e.dataset.place ??= String(document.querySelectorAll('[data-place]').length);
            const s = getComputedStyle(e), grip = e.querySelector?.('circle.grip');
            return { place: e.dataset.place, tag: e.outerHTML.slice(0, 90),
                marked: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 1 || Boolean(grip && getComputedStyle(grip)
                    .strokeWidth === '4px') };
        })()`);
        if (!at || seen.has(at.place)) continue;
        seen.add(at.place);
        that(`${what}: the focus is visible`, at.marked, at.tag);
    }
    same(`${what}: places that Tab reaches`, seen.size, all);
    await browser.tell('Accessibility.enable');
    const { nodes } = await browser.tell('Accessibility.getFullAXTree');
    const roles = ['button', 'link', 'textbox', 'slider', 'spinbutton', 'combobox', 'image', 'img', 'graphics-document'];
    for (const node of nodes.filter((n) => !n.ignored && roles.includes(n.role?.value))) {
        that(`${what}: a ${node.role.value} without a name`, Boolean(node.name?.value), JSON.stringify(node.nodeId));
    }
}

// A phone widens its window (innerWidth) to what does not fit.
const fits = (browser) => browser.value(`document.documentElement.scrollWidth <= ${browser.width}`);

async function texts(browser, what) {
    same(`${what}: texts that are empty`, await browser.value(
        `[...document.querySelectorAll('[data-text]')].filter((e) => !e.textContent.trim()).map((e) => e.dataset.text).join()`),
    '');
    that(`${what}: nothing is left to fill in`, !/\{\w+\}|undefined/.test(await browser.value('document.body.innerText')));
    that(`${what}: no scrolling sideways`, await fits(browser));
}

async function keep(browser, name) {
    if (!pictures) return;
    await browser.value('document.activeElement.blur()');
    for (const id of SECTIONS) await browser.picture(path.join(pictures, `${name}_${id}.png`), `#${id}`);
}

// A reader at a desk, in English, with the keyboard alone.
async function atADesk() {
    const b = await ready('?lang=en', { width: 1280, height: 900 });
    const painted = `performance.getEntriesByName('first-contentful-paint')[0]?.startTime`;
    await b.until(`${painted} !== undefined`);
    const paint = await b.value(painted);
    console.log(`first paint after ${Math.round(paint)} ms`);
    same('the language', await b.value('document.documentElement.lang'), 'en');
    await texts(b, 'English');
    await walk(b, 'English');

    // gradient: nothing has the focus, so the arrow keys step.
    await b.value(`document.activeElement.blur(), document.querySelector('#graph').scrollIntoView({ behavior: 'instant' })`);
    for (let i = 0; i < 6; i++) await b.key('ArrowRight');
    that('du is a sum', (await b.value(text('#gradient-words'))).includes('0.46212 + 0.39322 = 0.85534'),
        await b.value(text('#gradient-words')));
    await b.key('ArrowLeft');
    that('a step back', (await b.value(text('#gradient-words'))).includes('step 1 of 4'));
    await tabTo(b, '#gradient-stepper input');
    await b.key('End');
    that('the last step', (await b.value(text('#gradient-words'))).includes('step 4 of 4'));
    that('the gradient in the figure', (await b.value(text('#graph'))).includes('dw = 2.566'), await b.value(text('#graph')));
    await tabTo(b, '#leaf-w');
    await b.key('a', { ctrl: true });
    await b.type('2');
    that('all changes with w', (await b.value(text('#graph'))).includes('du = 1.0008'), await b.value(text('#graph')));
    await b.value('scrollTo(0, 0), document.querySelector("#languages button").focus()');
    await tabTo(b, '#formula');
    await b.key('a', { ctrl: true });
    await b.type('y = x * oops(x)');
    that('a wrong formula is explained', (await b.value(text('#formula-error'))).includes('There is no function oops'));
    same('the graph that it left is dim', await b.value("getComputedStyle(document.querySelector('#graph')).opacity"), '0.3');
    await b.key('a', { ctrl: true });
    await b.type('y = e^x + sqrt(x)');
    that('a constant is told', (await b.value(text('#formula-note'))).includes('e is the constant 2.71828'));
    await b.value("document.querySelector('#leaf-x').focus()");
    await b.key('a', { ctrl: true });
    await b.type('-1');
    that('a root of a negative number is told', (await b.value(text('#formula-error'))).includes('the root of −1'));
    await tabTo(b, '#formula');
    await b.key('a', { ctrl: true });
    await b.type('a = x^2; y = 3 z');
    that('what the result does not use has the gradient 0', /dx\s*0\s*0/.test(await b.value(text('#gradient-check'))),
        await b.value(text('#gradient-check')));
    await b.key('a', { ctrl: true });
    await b.type('y = x x x');
    await choose(b, '#leaf-x', '3');
    same('a right one removes that', await b.value(text('#formula-error')), '');
    same('and the graph is not dim', await b.value("getComputedStyle(document.querySelector('#graph')).opacity"), '1');
    that('the question is about this formula', (await b.value(text('#gradient-ask'))).includes('x is used in 3 places'),
        await b.value(text('#gradient-ask')));
    await tabTo(b, '#gradient-stepper input');
    await b.key('End');
    that('what is used twice in a step has one sum',
        (await b.value(text('#gradient-words'))).includes('dx = dp x + dp x = 3 · 3 + 3 · 3 = 18'),
        await b.value(text('#gradient-words')));

    // rule: a wrong rule, a right one.
    await tabTo(b, '#rule-backward');
    await b.key('Enter', { ctrl: true });
    that('half of the gradient', (await b.value(text('#rule-verdict'))).includes('each is 0.5 times the correct value'),
        await b.value(text('#rule-verdict')));
    same('six rows of the report', await b.value("document.querySelectorAll('#rule-report tr.bad').length"), 6);
    await b.key('a', { ctrl: true });
    await b.type('dx = 2.001 dy x');
    await b.key('Enter', { ctrl: true });
    that('nearly right is wrong', (await b.value(text('#rule-verdict'))).startsWith('✗'), await b.value(text('#rule-verdict')));
    await b.key('a', { ctrl: true });
    await b.type('dx = 2 dy x\ndz = 0');
    await b.key('Enter', { ctrl: true });
    that('a line for no input', (await b.value(text('#rule-verdict'))).includes('no input for the line “dz”'));
    await b.key('a', { ctrl: true });
    await b.type('dx = 2 dy x');
    await b.key('Enter', { ctrl: true });
    that('the right rule', (await b.value(text('#rule-verdict'))).startsWith('✓'));

    // spiral: slowly, then as fast as it can, with a look back at an earlier step. The limits leave room for a machine that
    // does many other things.
    const map = "document.querySelector('#spiral-map').toDataURL()", untrained = await b.value(map);
    await choose(b, '#spiral .speed', '10');
    await tabTo(b, '#spiral .run');
    await b.key('Enter');
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await b.key('Enter');
    const shown = async () => Number((await b.value(text('#spiral .history output'))).split(' / ')[0]);
    const slow = await shown();
    that('10 steps a second', slow > 0 && slow <= 25, slow);
    await tabTo(b, '#spiral .history input');
    const newest = await b.value(text('#spiral-state'));
    await b.key('Home');
    same('step 0 is shown again', await b.value(text('#spiral-state')), 'Not trained yet: the weights are random.');
    that('with its map', await b.value(map) === untrained);
    await b.key('End');
    same('the last step is shown again', await b.value(text('#spiral-state')), newest);
    await b.key('ArrowLeft');
    same('a step back in the history', await shown(), slow - 1);
    await choose(b, '#spiral .speed', '0');
    await b.value("document.querySelector('#spiral .run').focus()");
    await b.key('Enter');
    await b.until(`${text('#spiral-hash')} !== ''`, LONG);
    that('the hash of the spiral', (await b.value(text('#spiral-hash'))).includes('prints the same'),
        await b.value(text('#spiral-hash')));
    const seconds = Number((await b.value(text('#spiral-state'))).match(/([\d.]+) s of computing/)[1]);
    console.log(`501 steps of the spiral: ${seconds} s of computing`);
    that('the time of the spiral', seconds < 20, seconds);

    // race: 16 blocks. Two seeds more give a band.
    same('the first depth', await b.value("document.querySelector('#race-depth').value"), '16');
    await choose(b, '#race .speed', '0');
    await tabTo(b, '#race .run');
    await b.key('Enter');
    await b.until(`${text('#race-state')}.includes('step 200')`, LONG);
    const [, plain, skip] = (await b.value(text('#race-state'))).match(/is ([\d.]+) for f\(x\), (.*) for x \+ f\(x\)\.$/);
    that('f(x) of 16 blocks learns nothing, x + f(x) does', plain > 0.9 && (skip < 0.01 || skip.includes('× 10⁻')),
        `${plain} and ${skip}`);
    await choose(b, '#race .seeds', '3');
    await choose(b, '#race-depth', '3');
    await choose(b, '#race .init', 'he');
    for (let i = 0; i < 3; i++) await b.value("document.querySelector('#race .once').click()");
    same('bands of three seeds', await b.value("document.querySelectorAll('#race-loss .band').length"), 2);
    that('x + f(x) with the weights of he starts high', Number((await b.value(text('#race-state')))
        .match(/(\d+\.?\d*) for x \+ f\(x\)/)[1]) > 1, await b.value(text('#race-state')));
    await choose(b, '#race .what', 'signal');
    that('the signal is shown', (await b.value(text('#race-norm'))).includes('of the signal at step 0'));
    await choose(b, '#race .rows', 'dense');
    await b.value("document.querySelector('#race .once').click()");
    that('another row races', /for DenseNet, .* for x \+ f\(x\)\./.test(await b.value(text('#race-state'))),
        await b.value(text('#race-state')));

    // landscape: both maps, by keys.
    await choose(b, '#landscape .depth', '2');
    await tabTo(b, '#landscape .run');
    await b.key('Enter');
    await b.until("document.querySelector('#landscape .run').disabled", LONG);
    const missed = (await b.value(`[...document.querySelectorAll('#landscape figcaption')].map((e) => e.textContent).join()`))
        .match(/it misses ([\d.]+) %/g).map((told) => Number(told.match(/[\d.]+/)[0]));
    that('each plane misses nearly all of the curvature', missed.length === 2 && missed.every((m) => m > 95 && m < 100),
        missed);
    await tabTo(b, '#landscape svg');
    for (let i = 0; i < 10; i++) await b.key('ArrowRight');
    for (let i = 0; i < 10; i++) await b.key('ArrowDown');
    const middle = await b.value(text('#landscape .told')), told = await b.value(text('#landscape figcaption'));
    same('the middle is the trained network', middle, `0, 0: ${told.match(/loss [\d.]+\d/)[0]}`);

    // Sections 6 and 7.
    await tabTo(b, '#norm .double');
    await b.key('Enter');
    same('doubled', await b.value(text('#norm-inputs output')), '2');
    that('dx still sums to 0', (await b.value(text('#norm-sums'))).includes('dx sums to 0; the sum of x · dx is 0'),
        await b.value(text('#norm-sums')));
    await b.until("document.querySelectorAll('#softmax-largest circle').length === 22", LONG);
    await tabTo(b, '#softmax-k');
    await b.key('Home');
    that('d_k = 1', (await b.value(text('#softmax-state'))).startsWith('dₖ = 1:'));

    // geometry: a word moved by keys, and the heat.
    that('Q, K, V and the width of a key are named', /Q, K and V.*√dₖ/s.test(await b.value(text('#geometry p:not(.lesson)'))));
    const kept = async () => Number((await b.value(text('#geometry-area'))).match(/([\d.]+) %/)[1]);
    await tabTo(b, '#temperature');
    const before = await kept();
    await b.key('End');
    that('heat shrinks the polygon', await kept() < before / 10, await kept());
    await tabTo(b, '#plane g.word');
    await b.key('ArrowUp');
    same('a word moved by keys', await b.value(`document.activeElement.getAttribute('aria-valuetext')`), 'x −1.7, y −0.8');

    // positions: the number of a cell by keys and by the mouse.
    await tabTo(b, '#positions-table svg');
    same('the cell at the focus', await b.value(text('#positions-table output')), 'position 0, dimension 0: 0');
    await b.key('ArrowRight');
    same('the cell at its right', await b.value(text('#positions-table output')), 'position 0, dimension 1: 1');
    await b.point("document.querySelectorAll('#positions-table rect')[1 + 32 * 3]");
    same('the cell at the mouse', await b.value(text('#positions-table output')), 'position 3, dimension 0: 0.1411');

    // Sections 10 and 12: all three runs, then each step of the Transformer's backward pass.
    await tabTo(b, '#bits-run');
    await b.key('Enter');
    await b.until(`document.querySelectorAll('#bits-table .good, #bits-table .bad').length === 3`, LONG);
    same('equal hashes', await b.value(`document.querySelectorAll('#bits-table .good').length`), 3);
    that('it reverses', (await b.value(text('#answer'))).includes('6 of 6 right'));
    await b.value(`document.querySelector('#backward-stepper input').focus()`);
    await b.key('Home');
    const steps = await b.value(`Number(document.querySelector('#backward-stepper input').max)`);
    for (let i = 1; i < steps; i++) {
        await b.key('ArrowRight');
        const rule = await b.value(text('#backward-words .gradient'));
        that(`step ${i + 1}: a rule in x, W, y`, !/[a-z]{3}\d/.test(rule), rule);
    }
    that('the last step is an embedding', (await b.value(text('#backward-words'))).includes('embedding'));
    await texts(b, 'English, after all');
    await keep(b, '1280_en');
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

// Names of figures that a screen reader may read while the page loads and afterwards.
async function names() {
    for (const lang of ['en', 'ja']) {
        const b = await open(program, 'about:blank', { width: 1280, height: 900 });
        await b.tell('Page.addScriptToEvaluateOnNewDocument', { source: `window.told = [];
            new MutationObserver((all) => told.push(...all.map((m) => m.target.getAttribute('aria-label') ?? '')))
                .observe(document, { subtree: true, attributes: true, attributeFilter: ['aria-label'] });` });
        await b.go(url(`?lang=${lang}`));
        await b.until(READY);
        await b.until("document.querySelectorAll('#softmax-largest circle').length === 22", LONG);
        const told = await b.value('told');
        that(`${lang}: names while the page loads`, told.length > 20);
        same(`${lang}: names that are no numbers`, told.filter((name) => /NaN|undefined/.test(name)).join('; '), '');
        const figures = await b.value(
            `[...document.querySelectorAll('svg[role=img]')].map((e) => e.getAttribute('aria-label'))`);
        same(`${lang}: figures whose name does not say what they are`, figures.filter((name) =>
            !(lang === 'ja' ? /[ぁ-んァ-ヶ一-龠]/ : /[a-z]{3}/i).test(name)).join('; '), '');
        await b.close();
    }
}

// The texts of pictures that lie on others.
const ON_OTHERS = `[...document.querySelectorAll('svg')].flatMap((picture) => {
    const all = [...picture.querySelectorAll('text')].map((e) => [e, e.getBoundingClientRect()])
        .filter(([, box]) => box.width > 0);
    const lap = (a, c) => Math.min(a.bottom, c.bottom) - Math.max(a.top, c.top) > 0.25 * Math.min(a.height, c.height);
    return all.flatMap(([e, a], i) => all.slice(i + 1)
        .filter(([, c]) => a.left < c.right - 1 && c.left < a.right - 1 && lap(a, c))
        .map(([f]) => picture.id + ': ' + e.textContent + ' / ' + f.textContent));
}).join('; ')`;

// A phone of 360 pixels: no text lies on another, letters can be read, and a finger hits the links of the list.
async function narrow() {
    for (const lang of ['en', 'ja']) {
        const b = await ready(`?lang=${lang}`, { width: 360, height: 740, phone: true });
        await b.value("document.querySelector('#race .once').click()");
        for (const what of ['gradient', 'signal']) {
            await choose(b, '#race .what', what);
            same(`360 pixels, ${lang}, ${what}: texts on others`, await b.value(ON_OTHERS), '');
        }
        same(`360 pixels, ${lang}: small letters`, await b.value(`[...document.querySelectorAll('svg text')]
            .filter((e) => e.getClientRects().length
                && parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getScreenCTM().a < 11)
            .map((e) => e.ownerSVGElement.id + ': ' + e.textContent).join('; ')`), '');
        that(`360 pixels, ${lang}: links for fingers`, await b.value(`Math.min(...[...document.querySelectorAll('nav a')]
            .map((e) => e.getBoundingClientRect().height))`) >= 24);
        if (pictures) await b.picture(path.join(pictures, `360_${lang}_race.png`), '#race');
        await b.close();
    }
}

// Any sentence as tokens and before the next word; heads, masks, and how a token is drawn.
async function sentences() {
    const b = await ready('tokens?lang=en', { width: 1280, height: 900 });
    const count = (selector) => b.value(`document.querySelectorAll('${selector}').length`);
    for (const sentence of ['The bear', '', '👩‍👩‍👧 ﷺ \u202eab', 'bear '.repeat(400), '<b>&amp;</b> "x"', '\ud800',
        '\x07\x00']) {
        for (const id of ['#tokens-sentence', '#next-sentence']) await choose(b, id, sentence);
        const state = await b.value(text('#tokens-state')), tokens = Number(state.match(/(\d+) tokens/)[1]);
        that(`"${sentence.slice(0, 9)}" comes back`, state.includes('same sentence again'), state);
        same(`"${sentence.slice(0, 9)}": tokens in the list`, await count('#tokens-list .token'), Math.min(tokens, 60));
        same(`"${sentence.slice(0, 9)}": rows`, await count('#tokens-rows tbody tr'), Math.min(tokens, 6));
    }
    await choose(b, '#tokens-sentence', '熊 <i>');
    await tabTo(b, '#tokens-merges');
    await b.key('Home');
    same('seven bytes', await count('#tokens-list .token'), 7);

    await b.value("for (let i = 0; i < 3; i++) document.querySelector('#heads .once').click()");
    await choose(b, '#heads .number', '4');
    same('four maps', await count('#heads-maps figure svg'), 4);
    await choose(b, '#heads-word', 'BAD');
    that('a word is made whole', (await b.value(text('#heads-answer'))).startsWith('the wordbadheada'),
        await b.value(text('#heads-answer')));

    const crosses = `document.querySelector('#masks-maps path').getAttribute('d').split('M').length - 1`;
    same('crosses of the causal mask', await b.value(crosses), 15);
    await tabTo(b, '#masks-padding');
    await b.key(' ');
    same('and of the padding', await b.value(crosses), 18);
    const told = () => b.value(text('#masks-state'));
    that('sums that are equal', (await told()).startsWith('Each row of weights has the sum 1.'), await told());
    that('no gradient for the padding', (await told()).includes('5 ∅ · 6 ∅'), await told());
    await choose(b, '#masks .after', '1');
    that('hidden after the softmax', /to 0\.\d+\. Each key/.test(await told()), await told());

    await choose(b, '#next-sentence', 'The cat');
    await b.value("for (let i = 0; i < 3; i++) document.querySelector('#next .once').click()");
    await tabTo(b, '#next-k');
    await b.key('ArrowRight');
    same('top k 1: one token has all', (await b.value(text('#next-bars'))).match(/100 %/g).length, 1);
    same('one token can be drawn', (await b.value(text('#next-state'))).slice(0, 8), '1 of the');
    await tabTo(b, '#next .draw');
    await b.key('Enter');
    await b.key('Enter');
    same('two tokens', await count('#next-list .token'), 2);
    await b.value('writeLink()');
    await b.go();
    await b.until(READY);
    await b.until(`${text('#next .history output')} === '3 / 3'`, LONG);
    same('after a reload', await count('#next-list .token'), 2);
    await tabTo(b, '#next .forget');
    await b.key('Enter');
    same('none', await count('#next-list .token'), 0);
    that('the focus stays in the section', await b.value("document.activeElement.matches('#next .draw')"));
    await b.value("document.querySelector('#languages button:last-child').click()");
    that('a model for the other language', (await b.value(text('#next-trained'))).startsWith('未学習'));
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

// The text that the native program has compressed, a sentence, and a file of the reader.
async function packedTexts() {
    const b = await ready('compress?lang=en', { width: 1280, height: 900 });
    const letters = `[...document.querySelectorAll('#compress-text .letters span')].map((e) => e.textContent).join('')`;
    const written = (file) => fs.readFileSync(file, 'utf8').replaceAll('\n', '↵\n');
    const sample = path.join(__dirname, '../../examples/page/sections/compress/sample.txt');
    await b.until(`${text('#compress-sizes')}.includes('decompress the text first')`);
    await tabTo(b, '#compress .run');
    await b.key('Enter');
    await b.until(`${letters}.length > 300`, LONG);
    await b.key('Enter');
    same('a pause', await b.value(text('#compress .run')), 'Go on');
    that('the text so far', written(sample).startsWith(await b.value(letters)), await b.value(letters));
    await b.key('Enter');
    await b.until(`${text('#compress-back')} !== ''`, LONG);
    same('the text of the native program', await b.value(letters), written(sample));
    that('its hash', (await b.value(text('#compress-state'))).includes('The text has the hash'),
        await b.value(text('#compress-state')));
    await tabTo(b, '#compress-text .letters');
    same('the first letter', (await b.value(text('#compress-text .told'))).replace(/[\d.]+ bits/, '8 bits')
        .replace(/1\/.*/, ''), 'W costs 8 bits: its probability is ');
    await b.key('ArrowRight');
    that('the letter at its right', (await b.value(text('#compress-text .told'))).startsWith('h costs'));
    await b.point("document.querySelectorAll('#compress-text .letters span')[5]");
    that('the letter at the mouse', (await b.value(text('#compress-text .told'))).startsWith('i costs'));
    const sizes = async () => (await b.value(`[...document.querySelectorAll('#compress-sizes td')]
        .map((e) => e.textContent).join()`)).match(/\d+/g).map(Number);
    const [, , , first] = await sizes();
    await tabTo(b, '#sentence');
    await b.type('The number is the sum of the bits.');
    await b.until(`${text('#compress-own .letters')} === 'The number is the sum of the bits.'`);
    const [before, , untrained, trained] = await sizes();
    that('a sentence becomes small', before === 34 && untrained > 30 && trained < 20 && trained !== first,
        `${before}, ${untrained}, ${trained}`);
    await b.give('#compress-file', packed);
    const own = JSON.stringify(written(packed.replace(/\.k$/, '')));
    await b.until(`${letters} === ${own} && ${text('#compress-state')}.includes('The text has the hash')`, LONG);
    await b.give('#compress-file', page);
    await b.until(`${text('#compress-error')} !== ''`);
    that('a file that is too large', (await b.value(text('#compress-error'))).includes('more than 65535 bytes'));
    await b.give('#compress-file', sample);
    await b.until(`${text('#compress-error')}.includes('is no file of this program')`);
    same('its letters are gone', await b.value(letters), '');
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

// Links that no page has written, and values that a control cannot have.
async function strangeUse() {
    const b = await ready('spiral?exercise=map&steps=5000&spiral-step=4000&lang=en', { width: 1280, height: 900 });
    same('an exercise that is not there', await b.value("document.querySelector('#rule-forward').value"), 'y = x^2');
    await b.until("Number(document.querySelector('#spiral .history input').value) > 0", LONG);
    await b.value("document.querySelector('#spiral .run').click(), writeLink()");
    that('a pause on the way to the step of a link', !(await b.value('location.hash')).includes('spiral-step=4000'),
        await b.value('location.hash'));

    const formula = async (written) => b.value(`(() => {
        const input = document.querySelector('#formula');
        input.value = ${JSON.stringify(written)};
        input.dispatchEvent(new Event('input'));
        return document.querySelector('#formula-error').textContent;
    })()`);
    for (const [written, told] of [['y = ' + '('.repeat(2000), 'more than 400 symbols'], ['y = x' + '+x'.repeat(3000), '400'],
        ['y = dy x', 'dy is the gradient of y'], ['a = x^2; y = 3 * 2', 'depends on no variable'], ['y = x 😀', '“😀”'],
        ['ｙ＝ｘ＾２', ''], ['y = 0.0000012345678901234567 x', ''], ['y = (x^2)^200', 'too large']]) {
        const found = await formula(written);
        that(`the formula ${written.slice(0, 30)}`, told ? found.includes(told) : found === '', found);
    }
    await formula('y = 0.0000012345678901234567 x');
    that('a long number is itself', (await b.value(text('#gradient-check'))).includes('× 10⁻⁶'),
        await b.value(text('#gradient-check')));

    await choose(b, '#race .seed', '');
    same('a seed that is left empty is the one before', await b.value("document.querySelector('#race .seed').value"), '0');
    await choose(b, '#race .seeds', '5');
    await b.value("document.querySelector('#race .once').click()");
    that('and the race goes on', (await b.value(text('#race-state'))).includes('step 1'), await b.value(text('#race-state')));
    await b.value("document.querySelector('#transformer .run').click()");
    await b.value("document.querySelector('#backward-stepper .forward').click()");
    same('the stepper stops the training', await b.value(text('#transformer .run')), 'Train');
    await b.value("for (let i = 0; i < 9; i++) document.querySelector('#norm .double').click()");
    same('doubled as far as the sliders go', await b.value(text('#norm-inputs output')), '4');
    await choose(b, '#row', '３１４１５９');
    same('full-width digits', (await b.value(text('#answer .digits'))).replace(/\D/g, ''), '314159');
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

// A phone, in Japanese, and the change of the language.
async function onAPhone() {
    const b = await ready('?lang=ja', { width: 390, height: 844, phone: true });
    same('the language', await b.value('document.documentElement.lang'), 'ja');
    await texts(b, 'Japanese');
    await walk(b, 'Japanese');
    await b.value(`document.querySelector('#spiral .once').click(), document.querySelector('#transformer .once').click()`);
    for (const formula of [1, 2, 3, 4, 5]) {
        await b.value(`(() => {
            const choice = document.querySelector('#formula-examples');
            choice.value = ${formula};
            choice.dispatchEvent(new Event('change'));
        })()`);
        for (let i = 0; i < 20; i++) await b.value(`document.querySelector('#gradient-stepper .forward').click()`);
        await texts(b, `formula ${formula}`);
        that(`formula ${formula}: no English in the rules`, !/where|else/.test(await b.value(text('#gradient-words'))),
            await b.value(text('#gradient-words')));
        that(`formula ${formula}: constants are numbers`, !/const\d/.test(await b.value(text('#gradient'))));
    }
    const steps = await b.value(`Number(document.querySelector('#backward-stepper input').max)`);
    for (let i = 1; i < steps; i++) {
        await b.value(`document.querySelector('#backward-stepper .forward').click()`);
        const rule = await b.value(text('#backward-words .gradient'));
        that(`step ${i + 1}: no English in the rule`, !/[a-z]{4}/i.test(rule.replace(/softmax|table|target/g, '')), rule);
    }
    await keep(b, '390_ja');
    await b.value(`document.querySelector('#languages button').click()`);
    await texts(b, 'changed to English');
    await b.value("document.querySelector('#next-bars').replaceChildren()");   // tokens of both languages
    that('no Japanese is left', !/[ぁ-んァ-ン]/.test(await b.value(text('main'))),
        await b.value(`${text('main')}.match(/.{9}[ぁ-んァ-ン]+/)?.[0] ?? ''`));
    await keep(b, '390_en');
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

// What a link holds: all of this is there again after a reload, and in another window, but not what the next link leaves out.
async function links() {
    const b = await ready('?lang=ja', { width: 1280, height: 900 });
    const set = { '#formula': 'y = a sin(2 b)', '#leaf-a': '1.5', '#gradient-stepper input': '3', '#rule-exercises': '3',
        '#rule-backward': 'dx = dy (1 - y^2)', '#spiral .data': '2', '#spiral .width': '8', '#spiral .rate': '0.1',
        '#spiral .optimizer': '2', '#spiral .seed': '7', '#race-depth': '5', '#race .init': 'small-last', '#race .target': '1',
        '#race .seeds': '3', '#race .seed': '4', '#race .rows': 'highway', '#landscape .depth': '2',
        '#landscape .init': 'xavier', '#norm .kind': '1', '#norm-2': '4.5',
        '#softmax-k': '4', '#softmax .scaled': '1',
        '#temperature': '2', '#position': '21', '#positions .width': '16', '#transformer .task': '1', '#row': '271828',
        '#backward-stepper input': '9', '#sentence': 'Bits & 文' };
    for (const [selector, value] of Object.entries(set)) await choose(b, selector, value);
    for (const id of ['spiral', 'race', 'transformer']) {
        for (let i = 0; i < 4; i++) await b.value(`document.querySelector('#${id} .once').click()`);
    }
    await choose(b, '#spiral .history input', '2');
    await b.value("document.querySelector('#compress .run').click()");
    const unpacked = `${text('#compress-back')} !== ''`;
    await b.until(unpacked, LONG);
    await b.value("document.querySelector('#plane g.word').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp' }))");
    await b.value("document.querySelector('#positions').scrollIntoView({ behavior: 'instant' })");
    const word = "document.querySelector('#plane g.word').getAttribute('aria-valuetext')";
    const steps = `['spiral', 'race', 'transformer'].map((id) =>
        document.querySelector('#' + id + ' .history output').textContent.split(' / ')[0]).join()`;
    const everything = `JSON.stringify([${Object.keys(set).map((s) => `document.querySelector('${s}').value`)},
        document.documentElement.lang, ${word}, ${steps}, document.querySelector('#graph').ariaLabel,
        document.querySelector('#spiral-state').textContent.replace(/計算時間.*/, ''),
        document.querySelector('#race-state').textContent, document.querySelector('#answer').textContent,
        document.querySelector('#compress-state').textContent, document.querySelector('#compress-sizes').textContent])`;
    await b.value('writeLink()');
    const before = await b.value(everything), address = await b.value('location.href');
    that('the link names the section', address.includes('#positions?'), address);
    that('the link names the initial weights', address.includes('&init=small-last&'), address);
    that('what was set is there', Object.values(set).every((v) => before.includes(JSON.stringify(v))), before);
    that('so are the steps', before.includes('"2,4,4"') && before.includes('y −0.8'), before);
    const again = async (what) => {
        await b.until(READY);
        await b.until(`${steps} === '2,4,4' && ${unpacked}`, LONG);
        same(what, await b.value(everything), before);
        that(`${what}: the section`, await b.value(
            "Math.abs(document.querySelector('#positions').getBoundingClientRect().top) < 40"));
    };
    await b.go();
    await again('after a reload');
    await b.go('about:blank');
    await b.go(address);
    await again('by the link');
    await b.value('document.querySelector("#sections a").click(), writeLink()');
    that('a click on a section', (await b.value('location.href')).includes('#gradient?'), await b.value('location.href'));
    await b.go('about:blank');
    await b.go(url('race?depth=99&init=7&seed=x&lang=xx&formula=&step=-1&spiral-step=z&x=1&words=2'));
    await b.until(READY);
    same('a link with nonsense', await b.value(`['#race-depth', '#race .init', '#race .seed'].map((s) =>
        document.querySelector(s).value).join() + document.documentElement.lang`), '24,default,0en');
    await b.go('about:blank');
    await b.go(url('race?init=1&depth=8'));
    await b.until(READY);
    same('an old link: its number for the initial weights is left out', await b.value(`['#race-depth', '#race .init'].map((s) =>
        document.querySelector(s).value).join()`), '8,default');
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

// The figure of a lecture ends above the bar, and its letters can be read from the last row.
async function onOneScreen(b, what) {
    const [bottom, bar, least] = await b.value(`(() => {
        const figure = document.querySelector('section.shown .figure'), box = (e) => e.getBoundingClientRect();
        const letters = [...figure.querySelectorAll('svg text')].map((e) =>
            parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getScreenCTM().a);
        return [box(figure).bottom, box(document.querySelector('#lecture-bar')).top, Math.min(99, ...letters)]; })()`);
    that(`${what}: the figure is above the bar`, bottom <= bar, `${bottom}, the bar ${bar}`);
    that(`${what}: large letters in pictures`, least >= 12, least);
}

// What a slide of a lecture shows: its question and its figure, as [top, bottom], and what is wrong with it.
const SLIDE = `(() => {
    const box = (e) => e.getBoundingClientRect(), visible = (e) => e.getClientRects().length > 0;
    const bar = document.querySelector('#lecture-bar'), end = box(bar).top;
    const [ask, figure] = ['.ask', '.figure'].map((name) => [...shown.querySelectorAll(name)].filter(visible));
    const small = new Set(), outside = new Set(), range = document.createRange();
    let least = Infinity, most = 0;
    for (const root of [shown, bar]) {
        const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const text = texts.currentNode, e = text.parentElement, told = text.data.trim().slice(0, 30);
            range.selectNodeContents(text);
            if (!told || !range.getBoundingClientRect().width || e.closest('.letters')) continue;
            const size = parseFloat(getComputedStyle(e).fontSize) * (e.ownerSVGElement?.getScreenCTM().a ?? 1);
            const { left, right, top, bottom } = range.getBoundingClientRect();
            if (size < 0.04 * innerHeight) small.add(told + ' ' + size.toFixed(1));
            const lowest = root === bar ? innerHeight : end;
            const scrolls = e.closest('.ask p');            // with the next lines of an answer
            if (left < 0 || right > innerWidth || !scrolls && (top < 0 || bottom > lowest + 1)) outside.add(told);
        }
    }
    // What lies on another: the lines of texts, and controls.
    const items = [...shown.querySelectorAll('button, input, select, textarea')].filter(visible)
        .map((e) => ({ e, told: e.id || e.textContent, rects: [box(e)] }));
    const lines = document.createTreeWalker(shown, NodeFilter.SHOW_TEXT);
    while (lines.nextNode()) {
        const text = lines.currentNode, e = text.parentElement;
        range.selectNodeContents(text);
        if (text.data.trim() && visible(e) && !e.closest('svg, .letters, option, .ask p')) {
            items.push({ e, told: text.data.trim().slice(0, 30), rects: [...range.getClientRects()] });
        }
    }
    const lap = (a, c) => Math.min(a.right, c.right) - Math.max(a.left, c.left) > 2
        && Math.min(a.bottom, c.bottom) - Math.max(a.top, c.top) > 0.3 * Math.min(a.height, c.height);
    const onOthers = items.flatMap((a, i) => items.slice(i + 1).filter((c) => !a.e.contains(c.e) && !c.e.contains(a.e)
        && a.rects.some((r) => c.rects.some((s) => lap(r, s)))).map((c) => a.told + ' / ' + c.told));
    const parts = [...figure[0].querySelectorAll('*')].filter((e) => visible(e) && !e.closest('svg *, .letters *'));
    const frame = box(figure[0]);
    for (const e of parts) {
        const { left, right, bottom } = box(e);
        const cut = bottom > frame.bottom + 1 || right > frame.right + 1 || left < frame.left - 1;
        if (cut) outside.add(e.outerHTML.slice(0, 60));
    }
    const ends = parts.filter((e) => !e.children.length || e.localName === 'svg').map(box);
    const full = Math.max(...ends.map((b) => b.bottom)) - Math.min(...ends.map((b) => b.top));
    const span = (e) => [box(e).top, box(e).bottom];
    return { at: shown.id + ' ' + slide, questions: ask.length, figures: figure.length,
        heading: box(shown.querySelector('h2')).top, question: span(ask[0]), figure: span(figure[0]), end, full,
        onOthers: onOthers.join('; '), outside: [...outside].join('; '), small: [...small].join('; ') };
})()`;
const DRAWN = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn))))';

// A question above its figure, which fills the rest of the screen, in letters that can be read from the last row.
async function slideIsRight(b, what, height) {
    await b.value(DRAWN);
    const s = await b.value(SLIDE), below = height - s.question[1];
    what = `${what}, ${s.at}`;
    same(`${what}: one question and one figure`, `${s.questions} ${s.figures}`, '1 1');
    that(`${what}: the heading and the question are seen`, s.heading >= 0 && s.question[0] > 0 && s.question[1] > s.question[0],
        s.question);
    that(`${what}: the figure is below the question`, s.question[1] <= s.figure[0], `${s.question}, ${s.figure}`);
    that(`${what}: the figure ends above the bar`, s.figure[1] <= s.end && s.end < height, `${s.figure}, ${s.end}`);
    that(`${what}: the figure fills what is below the question`, s.figure[1] - s.figure[0] >= 0.6 * below, s.figure);
    that(`${what}: its parts fill the figure`, s.full >= 0.6 * below, `${s.full} of ${below}`);
    same(`${what}: parts that are cut off`, s.outside, '');
    same(`${what}: letters below 4 % of the height`, s.small, '');
    same(`${what}: texts in pictures on others`, await b.value(ON_OTHERS), '');
    same(`${what}: texts or controls on others`, s.onOthers, '');
}

const PICTURES = 'main :is(.figure, .fills, svg[id], canvas)';

// Lectures on three projectors, in both languages: every slide of every section.
async function projectors() {
    for (const lang of ['en', 'ja']) {
        for (const [width, height] of [[1280, 720], [1920, 1080], [1024, 768]]) {
            const what = `${width} ${lang}`, b = await ready(`gradient?lecture=true&lang=${lang}`, { width, height });
            const place = '[shown.id, slide].join()', places = [], isWide = width / height > 1.5;
            for (let last = ''; last !== (last = await b.value(place));) {
                places.push(last);
                if (isWide) await slideIsRight(b, what, height);
                else await onOneScreen(b, `${what} ${last}`);
                await b.value(`document.querySelectorAll('${PICTURES}').forEach((e) => {
                    if (e.getClientRects().length) e.dataset.seen = '';
                })`);
                if (pictures) {
                    const { data } = await b.tell('Page.captureScreenshot', {});
                    fs.writeFileSync(path.join(pictures, `lecture_${height}_${lang}_${last.replace(',', '_')}.png`),
                        Buffer.from(data, 'base64'));
                }
                await b.key('PageDown');
            }
            same(`${what}: figures that no slide shows`, await b.value(`[...document.querySelectorAll('${PICTURES}')]
                .filter((e) => !('seen' in e.dataset)).map((e) => e.closest('section').id + ' ' + e.id).join()`), '');
            same(`${what}: sections with a slide`, [...new Set(places.map((p) => p.split(',')[0]))].join(), SECTIONS.join());
            const look = `shown.id + document.querySelector('#lecture-place').textContent
                + [...shown.querySelectorAll('.figure *')].filter((e) => e.getClientRects().length && !e.children.length)
                .map((e) => e.outerHTML).join('')`;
            for (const p of places.slice(0, -1)) {
                const [id, n] = p.split(',');
                await b.value(`showSection(document.querySelector('#${id}'), ${n})`);
                const before = await b.value(look);
                await b.key('ArrowRight');
                that(`${what}, ${p}: the right arrow changes what is seen`, await b.value(look) !== before);
            }
            same('complaints of the console', b.complaints.join('; '), '');
            await b.close();
        }
    }
}

// A step of each kind of the slide's stepper: those that differ in what is written or in the number of their pictures.
const KINDS_OF_STEPS = `(() => {
    const stepper = stepperInView(), kinds = new Map();
    for (stepper.go(0); stepper; stepper.by(1)) {
        const words = [...shown.querySelectorAll('.words')].map((e) => e.textContent.replace(/[\\d−.]+/g, '#')).join();
        kinds.set(words + shown.querySelectorAll('.figure figure').length, stepper.at());
        if (stepper.ended(1)) break;
    }
    return [...kinds.values()];
})()`;

// Slides whose contents a reader decides, on two projectors: each exercise with a wrong and a right rule, and long sentences.
async function contents() {
    const long = ['猫は🍕とラーメンを食べたが、東京のシマウマは食べなかった。', 'x'.repeat(2000), 'the bear '.repeat(222), '👩‍👩‍👧'.repeat(250)];
    for (const [width, height, lang] of [[1280, 720, 'ja'], [1920, 1080, 'en']]) {
        const b = await ready(`rule?lecture=true&lang=${lang}&next-step=2`, { width, height });
        const right = (what) => slideIsRight(b, `${width} ${lang}, ${what}`, height);
        const show = (id, n) => b.value(`showSection(document.querySelector('#${id}'), ${n})`);
        for (let i = 0; i < await b.value("document.querySelectorAll('#rule-exercises option').length"); i++) {
            await show('rule', 1);
            await choose(b, '#rule-exercises', i);
            await b.key(' ');
            await right(`exercise ${i}, wrong`);
            await b.key('PageDown');
            same(`exercise ${i}: what is wrong has a slide`, await b.value('shown.id + slide'), 'rule2');
            await right(`exercise ${i}, wrong`);
            await show('rule', 1);
            await b.value("document.querySelector('#rule-answer').click()");
            await right(`exercise ${i}, right`);
        }
        for (const sentence of width > 1280 ? [] : long) {
            const what = `a sentence to ${sentence.slice(-9)}`;
            for (const id of ['tokens', 'next']) await choose(b, `#${id}-sentence`, sentence);
            for (const n of [1, 2]) {
                await show('tokens', n);
                await right(what);
            }
            for (const drawn of [false, true]) {
                for (let k = 0; k < (drawn ? 3 : 0); k++) await b.value("document.querySelector('#next .line').click()");
                for (const n of [1, 2, 3]) {
                    await show('next', n);
                    await right(drawn ? `${what} and more` : what);
                    that(`${what}, ${drawn}: it is on slide ${n}`, drawn ? await b.value("Boolean(seen('#next-list .token'))")
                        : (await b.value(text('#next-list'))).endsWith(sentence.slice(-9)));
                }
            }
        }
        await b.close();
    }
}

// Pictures of slides fill their place; the tiles of the backward pass are few and have short names and a scale each.
async function maps() {
    for (const lang of ['en', 'ja']) {
        const b = await ready(`heads?lecture=true&lang=${lang}&heads=2`, { width: 1280, height: 720 });
        const show = (id, n) => b.value(`showSection(document.querySelector('#${id}'), ${n})`);
        const share = `[...shown.querySelectorAll('.maps svg')].filter((e) => e.getClientRects().length).map((e) => {
            const [ground, place] = [e.querySelector('.ground'), e].map((part) => part.getBoundingClientRect());
            return Math.min(ground.width / place.width, ground.height / (place.height - 135));
        })`;
        for (const [id, n] of [['heads', 2], ['masks', 1], ['masks', 2]]) {
            await show(id, n);
            await b.value(DRAWN);
            const shares = await b.value(share);
            that(`${lang}, ${id} ${n}: maps fill their place`, shares.length === 2 && Math.min(...shares) > 0.9, shares);
        }
        await show('gradient', 2);
        const question = await b.value("seen('.ask summary').textContent");
        that(`${lang}: no stepper, no steps in the question`, !/[Ss]tep|ステップ/.test(question), question);
        await show('backward', 2);
        const wrong = await b.value(`(() => {
            const wrong = [], stepper = stepperInView();
            for (stepper.go(1);; stepper.by(1)) {
                const all = [...shown.querySelectorAll('#tiles figure')], told = shown.querySelector('.words').textContent;
                const bad = all.length > 4 || all.some((e) => /[a-z]\\.|\\d\\.[a-z]/.test(e.textContent))
                    || all.some((e) => e.querySelectorAll('svg text').length < 2)
                    || /skip connection|スキップ接続/.test(told) !== /(: \\+|：＋)/.test(told) || ${ON_OTHERS};
                if (bad) wrong.push(stepper.at() + ' ' + bad);
                if (stepper.ended(1)) return wrong.join('; ');
            }
        })()`);
        same(`${lang}: steps with many tiles, long names, or without a scale`, wrong, '');
        await b.close();
    }
    const b = await ready('next?lang=en&next-step=200&drawn=5', { width: 1280, height: 900 });
    same('no tokens of another training', await b.value("document.querySelectorAll('#next-list .token').length"), 0);
    that('what it does meanwhile', (await b.value(text('#next-list'))).endsWith('Training again …'));
    await b.close();
}

// The steps of each slide, its answer, and its controls.
async function slides() {
    const [width, height] = [1280, 720];
    for (const lang of ['en', 'ja']) {
        const b = await ready(`gradient?lecture=true&lang=${lang}`, { width, height });
        await b.value("document.querySelector('#rule-check').click()");
        const all = await b.value(`sections().flatMap((s) => slidesOf(s).map((n) => [s.id, n]))`);
        for (const [id, n] of all) {
            const what = `${lang}, ${id} ${n}`;
            await b.value(`showSection(document.querySelector('#${id}'), ${n})`);
            for (const step of await b.value(`stepperInView() ? ${KINDS_OF_STEPS} : []`)) {
                await b.value(`stepperInView().go(${step})`);
                await slideIsRight(b, `${lang}, step ${step}`, height);
            }
            // The blue button: a rule is checked, a training begins and stops. Two of them take seconds.
            if (!['compress', 'bits'].includes(id) && await b.value("Boolean(seen('button.main'))")) {
                for (let i = 0; i < 2; i++) await b.key(' ');
                await b.value('new Promise((soon) => setTimeout(soon, 100))');
                await slideIsRight(b, `${what}, the blue button`, height);
            }
            await b.key('a');
            await b.value(DRAWN);
            const answer = await b.value(`(({ top, bottom }) => [top, bottom])(seen('.ask[open] p').getBoundingClientRect())`);
            const { figure, end, outside, small } = await b.value(SLIDE);
            that(`${what}: the answer is above the figure`, answer[0] > 0 && answer[1] > answer[0] && answer[1] <= figure[0],
                `${answer}, ${figure}`);
            that(`${what}: an answer leaves the figure its room`, figure[1] <= end && figure[1] - figure[0] >= 0.6 * height,
                figure);
            same(`${what}: what an answer cuts off`, outside, '');
            const hidden = `(({ scrollTop, scrollHeight, clientHeight }) =>
                [scrollTop, scrollHeight - scrollTop - clientHeight])(seen('.ask p'))`;
            for (let rest = await b.value(hidden), last = -1; rest[1] > 1 && rest[0] > last;) {
                last = rest[0];
                same(`${what}: a mark says that the answer goes on`, await b.value("Boolean(seen('.ask.more'))"), true);
                await b.key('a');
                await b.value(DRAWN);
                rest = await b.value(hidden);
                that(`${what}: the next lines of the answer`, rest[0] > last, rest);
            }
            same(`${what}: no mark at its end`, await b.value("Boolean(seen('.ask.more'))"), false);
            same(`${what}: letters in the answer`, small, '');
            await b.key('c');
            await b.value(DRAWN);
            that(`${what}: the question beside its controls`, await b.value(`(({ top, height }) => top > 0 && height > 20)
                (seen('.ask summary b').getBoundingClientRect())`));
            const controls = await b.value(`[...shown.querySelectorAll('.controls :is(button, select, input)')]
                .filter((e) => !e.closest('.off')).filter((e) => !e.getClientRects().length
                || e.getBoundingClientRect().bottom > document.querySelector('#lecture-bar').getBoundingClientRect().top)
                .map((e) => e.className + e.id).join()`);
            same(`${what}: controls that are not seen`, controls, '');
            await b.key('Escape');
            same(`${what}: the question is back`, await b.value(`Boolean(lecture && seen('.ask summary'))`), true);
        }
        same('complaints of the console', b.complaints.join('; '), '');
        await b.close();
    }
}

// One slide at a time, by the keys of a remote control.
async function lecture() {
    const b = await ready('rule?lang=en', { width: 1280, height: 720 });
    const shown = `[...document.querySelectorAll('main > section')].filter((s) => s.getClientRects().length)
        .map((s) => s.id).join()`;
    const size = "parseFloat(getComputedStyle(document.querySelector('section.shown summary, #rule summary')).fontSize)";
    const before = await b.value(size);
    await b.value("document.querySelector('#lecture').click()");
    same('the section in view', await b.value(shown), 'rule');
    that('large type', await b.value(size) > 1.15 * before, await b.value(size));
    await b.key('PageUp');
    same('the slide before', await b.value(`${shown} + slide`), 'gradient2');
    await b.key('PageUp');
    const last = Number(await b.value("document.querySelector('#gradient-stepper input').max"));
    for (let i = 0; i < last; i++) await b.key('ArrowRight');
    same('still there, at the last step', await b.value(`${shown} + slide
        + document.querySelector('#gradient-stepper input').value`), `gradient1${last}`);
    await b.key('ArrowRight');
    same('behind the last step', await b.value(`${shown} + slide`), 'gradient2');
    await b.key('ArrowRight');
    same('behind the last slide', await b.value(shown), 'rule');
    await b.key('ArrowLeft');
    same('and back', await b.value(`${shown} + slide`), 'gradient2');
    await b.value('writeLink()');
    await b.go();
    await b.until(READY);
    same('the slide after a reload', await b.value(`${shown} + slide`), 'gradient2');
    await b.value("showSection(document.querySelector('#spiral'))");
    await b.key(' ');
    await b.until(`${text('#spiral .history output')} !== '0 / 0'`);
    await b.key(' ');
    same('the space bar trains and stops', await b.value(text('#spiral .run')), 'Train');
    await b.value("document.querySelector('#lecture-on').click()");
    same('the button goes on', await b.value(shown), 'race');
    await b.value("document.querySelector('#race .history input').focus()");
    await b.key('PageDown');
    same('a remote control goes on, whatever has the focus', await b.value(`${shown} + slide`), 'race2');
    for (let i = 0; i < 99; i++) await b.key('PageDown');
    same('nothing behind the last section', await b.value(shown), SECTIONS[SECTIONS.length - 1]);
    await b.key('Escape');
    same('all sections', await b.value(shown), SECTIONS.join());
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

// The kinds of controls: which keys they keep for themselves in a lecture.
const KINDS = { 'input[type=text]': 'a c arrows', textarea: 'a c arrows', 'input[type=number]': 'arrows',
    'input[type=range]': 'arrows', '[role=slider]': 'arrows', 'svg[data-cells]': 'arrows', '.letters': 'arrows',
    'input[type=checkbox]': '', 'input[type=file]': '', select: '', button: '', summary: '' };

// After a control of each kind has been used, the keys of a lecture do what its bar says.
async function keysAfterControls() {
    const b = await ready('gradient?lecture=true&lang=en', { width: 1280, height: 720 });
    same('kinds of controls that this test leaves out', await b.value(`[...document.querySelectorAll(
        'main :is(input, select, textarea, button, summary, [tabindex="0"])')]
        .filter((e) => !e.matches(${JSON.stringify(Object.keys(KINDS).join())})).map((e) => e.outerHTML).join()`), '');
    // Goes to the slide of the first control of that kind, and gives it the focus. Returns whether there is one.
    const use = (kind) => b.value(`(() => {
        if (!lecture) setLecture(true);
        for (const section of sections()) {
            for (const n of slidesOf(section)) {
                showSection(section, n);
                setSettings(true);
                const control = seen(${JSON.stringify(kind)});
                if (!control) continue;
                control.focus();
                return document.activeElement === control;
            }
        }
        return false;
    })()`);
    const place = "shown.id + slide + (stepperInView()?.at() ?? '')";
    const has = (name) => b.value(`document.documentElement.classList.contains('${name}')`);
    for (const [kind, kept] of Object.entries(KINDS)) {
        const keeps = kept.split(' ');
        that(`${kind} has the focus`, await use(kind));
        await b.key('a');
        same(`${kind}: A shows the answer`, await b.value("Boolean(seen('.ask[open]'))"), !keeps.includes('a'));
        await use(kind);
        await b.key('c');
        same(`${kind}: C closes the controls`, await has('settings'), keeps.includes('c'));
        if (!keeps.includes('c')) {
            for (let i = 0; i < 2; i++) {
                await b.key('c');
                same(`${kind}: C, once more`, await has('settings'), i === 0);
            }
        }
        await use(kind);
        const before = await b.value(place);
        await b.key('ArrowRight');
        same(`${kind}: the right arrow goes on`, await b.value(place) !== before, !keeps.includes('arrows'));
        await use(kind);
        const isField = !['button', 'summary'].includes(kind);
        if (isField) {
            await b.key('Escape');
            same(`${kind}: Esc drops the focus`, `${await has('lecture')} ${await has('settings')}
                ${await b.value('document.activeElement.localName')}`, 'true true\n                h2');
        }
        await b.key('Escape');
        same(`${kind}: Esc closes the controls`, `${await has('lecture')} ${await has('settings')}`, 'true false');
        await b.key('Escape');
        same(`${kind}: Esc leaves`, await has('lecture'), false);
    }
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

// A lecture begins at the section in view, and its list jumps.
async function lectureBegins() {
    const b = await ready('?lang=en', { width: 1280, height: 720 });
    const press = "document.querySelector('#lecture').click()";
    const toTop = async () => {
        await b.value('scrollTo({ top: 0, behavior: "instant" })');
        await b.value(DRAWN);
    };
    await b.value(press);
    same('without a section: the first', await b.value('shown.id'), SECTIONS[0]);
    await b.key('Escape');
    await b.value(`document.querySelector('#sections a[href="#heads"]').click()`);
    await b.value(DRAWN);
    await toTop();
    await b.value(press);
    same('the section that was chosen', await b.value('shown.id'), 'heads');
    for (let i = 0; i < 3; i++) await b.key('PageDown');
    const last = await b.value('shown.id');
    that('turned to another section', last !== 'heads');
    await b.key('Escape');
    await toTop();
    await b.value(press);
    same('the section that was left', await b.value('shown.id'), last);
    await b.key('Escape');
    await b.value("document.querySelector('#norm').scrollIntoView({ behavior: 'instant' })");
    await b.value(DRAWN);
    await toTop();
    await b.value(press);
    same('the section that was read', await b.value('shown.id'), 'norm');
    same('the list has the sections', await b.value(`[...document.querySelectorAll('#lecture-list option')]
        .map((e) => e.value).join()`), SECTIONS.join());
    same('the list shows the section', await b.value("document.querySelector('#lecture-list').value"), 'norm');
    for (const id of [SECTIONS[SECTIONS.length - 1], 'spiral']) {
        await choose(b, '#lecture-list', id);
        same(`the list jumps to ${id}`, await b.value('shown.id + slide'), `${id}1`);
        await b.key('ArrowRight');
        that('then the arrow keys go on', id !== 'spiral' || await b.value('shown.id') === 'race');
    }
    await b.key('PageUp');
    same('the list follows', await b.value("document.querySelector('#lecture-list').value"), 'spiral');
    await choose(b, '#lecture-list', 'compress');
    await b.value("seen('.letters').textContent = 'a line\\n'.repeat(40)");
    const at = "shown.id + slide + (seen('.letters').scrollTop > 0)";
    await b.key('ArrowRight');
    same('the right arrow scrolls a long text', await b.value(at), 'compress1true');
    await b.key('ArrowLeft');
    same('the left arrow scrolls back', await b.value(at), 'compress1false');
    for (let i = 0; i < 20 && await b.value('slide') === 1; i++) await b.key('ArrowRight');
    same('behind its end comes the next slide', await b.value('shown.id + slide'), 'compress2');
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

// The least contrast of a text with the paper behind it, and that text.
const CONTRAST = `(() => {
    const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => [r, g, b].map((v) => linear(v / 255))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
    const behind = (e) => {
        for (; e; e = e.parentElement) {
            const c = numbers(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] === 1) return c;
        }
        return [255, 255, 255];
    };
    let worst = [21, ''];
    for (const e of document.querySelectorAll('body *')) {
        const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        if (!own || !e.getClientRects().length || e.closest('[disabled], [opacity], td, option, .stale')) continue;
        const style = getComputedStyle(e), inSvg = e.namespaceURI.endsWith('svg');
        const [a, b] = [numbers(inSvg ? style.fill : style.color), behind(e)].map(light);
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < worst[0]) worst = [ratio, e.textContent];
    }
    return worst;
})()`;

// Dark, printed, saved, with less motion, and on the smallest phone.
async function looks() {
    const b = await ready('?lang=en', { width: 1280, height: 900 });
    const paper = 'getComputedStyle(document.body).backgroundColor';
    for (const [scheme, color] of [['light', 'rgb(255, 255, 255)'], ['dark', 'rgb(22, 24, 27)']]) {
        await b.prefer({ 'prefers-color-scheme': scheme });
        same(`${scheme} paper`, await b.value(paper), color);
        const [ratio, worst] = await b.value(CONTRAST);
        that(`${scheme}: contrast of texts`, ratio >= 4.5, `${ratio}: ${worst}`);
    }
    await keep(b, 'dark_en');
    await b.prefer({ 'prefers-color-scheme': 'dark' }, 'print');
    same('paper is white', await b.value(paper), 'rgb(255, 255, 255)');
    same('what is not printed', await b.value(`[...document.querySelectorAll('.tools, .stepper, nav, .run, #lecture-bar')]
        .filter((e) => e.getClientRects().length).length`), 0);
    const PAGE = 1000;                                      // pixels of an A4 page between its margins, nearly
    same('figures that no page has room for', await b.value(`[...document.querySelectorAll('.two > *, svg, canvas')]
        .filter((e) => e.getBoundingClientRect().height > ${PAGE}).map((e) => e.id).join()`), '');
    const { data } = await b.tell('Page.printToPDF', { printBackground: false });
    const pdf = Buffer.from(data, 'base64');
    const pages = pdf.toString('latin1').match(/\/Type\s*\/Page\b/g).length;
    that('the pages of the PDF', pages >= 8 && pages <= 20, pages);
    if (pictures) fs.writeFileSync(path.join(pictures, 'printed.pdf'), pdf);
    await b.prefer({});

    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'saved-'));
    await b.tell('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder });
    for (const id of SECTIONS) {
        const picture = await b.value(`figureBlob(document.querySelector('#${id} .figure')).text()`);
        that(`${id}: SVG that needs no style sheet`, picture.startsWith('<svg xmlns="http://www.w3.org/2000/svg"')
            && !/var\(|class=|foreignObject/.test(picture) && picture.includes('<text'), picture.slice(0, 200));
        same(`${id}: hints are not saved`, picture.includes('Point at a cell'), false);
        const bytes = await b.value(`figurePng(document.querySelector('#${id} .figure')).then((png) => png.size)`);
        that(`${id}: PNG`, bytes > 5000, bytes);
        if (pictures) fs.writeFileSync(path.join(pictures, `saved_${id}.svg`), picture);
    }
    const saved = path.join(folder, 'kaeru_race.svg');
    await b.value(`document.querySelector('#race .tools button').click()`);
    for (let i = 0; i < 100 && !fs.existsSync(saved); i++) await new Promise((resolve) => setTimeout(resolve, 50));
    that('the button saves a file', fs.existsSync(saved), fs.readdirSync(folder).join());
    fs.rmSync(folder, { recursive: true, force: true });

    await b.prefer({ 'prefers-reduced-motion': 'reduce' });
    await b.go();
    await b.until(READY);
    same('less motion: no slow film', await b.value("document.querySelector('#spiral .speed').value"), '0');
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

async function smallest() {
    const b = await ready('?lang=ja', { width: 320, height: 640, phone: true });
    await texts(b, '320 pixels, Japanese');
    await b.value("document.querySelector('#rule-check').click()");
    await b.point("document.querySelectorAll('#maps svg')[1].querySelectorAll('rect')[1 + 6 * 2]", { touch: true });
    const told = await b.value(text('#maps figure:nth-child(2) output'));
    that('the number at a finger', /^3番目の.が、1番目の.から受け取る割合：0\.\d{3}$/.test(told), told);
    for (let i = 2; i <= 75; i++) {
        await b.value("document.querySelector('#backward-stepper .forward').click()");
        that(`320 pixels, step ${i}: no scrolling sideways`, await fits(b));
    }
    await texts(b, '320 pixels, Japanese, later');
    await keep(b, '320_ja');
    await b.value("document.querySelector('#lecture').click()");
    for (let last = ''; last !== (last = await b.value('shown.id + slide'));) {
        that(`320 pixels, lecture, ${last}: no scrolling sideways`, await fits(b));
        await b.key('PageDown');
    }
    await b.key('Escape');
    await b.value("document.querySelector('#languages button').click()");
    await texts(b, '320 pixels, English');
    await keep(b, '320_en');
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

async function run() {
    const atHome = [atADesk, names, sentences, packedTexts, strangeUse, onAPhone, narrow, links, looks, smallest];
    for (const part of [...atHome, lecture, keysAfterControls, lectureBegins, contents, maps, projectors, slides]) await part();
}

run().then(() => finish(), (error) => { finish(error); process.exit(); });
