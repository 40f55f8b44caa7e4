// browser_test.js CHROMIUM PAGE_HTML [PICTURES]: the page in a browser, by keyboard: it steps, trains, compares the hashes, in
// both languages, at the width of a desk and of a phone, without a complaint in the console. Pictures go to that folder.
'use strict';
const path = require('path');
const { that, same, finish } = require('./checks.js');
const { open } = require('./browser.js');

const [, , program, page, pictures] = process.argv;
const url = (hash) => `file://${encodeURI(path.resolve(page))}#${hash}`;
const SECTIONS = ['gradient', 'rule', 'spiral', 'race', 'geometry', 'transformer', 'bits'];
const text = (selector) => `document.querySelector(${JSON.stringify(selector)}).textContent`;

async function ready(language, size) {
    const browser = await open(program, url(language), size);
    await browser.until("document.body.classList.contains('ready')");
    return browser;
}

// Presses Tab until the element has the focus.
async function tabTo(browser, selector) {
    for (let i = 0; i < 200; i++) {
        if (await browser.value(`document.activeElement?.matches(${JSON.stringify(selector)}) ?? false`)) return true;
        await browser.key('Tab');
    }
    return false;
}

// Everything that can have the focus is reached by Tab, and has a name and a visible mark there.
async function walk(browser, what) {
    const all = await browser.value(`[...document.querySelectorAll('a[href], button, input, select, textarea, [tabindex]')]
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

async function texts(browser, what) {
    same(`${what}: texts that are empty`, await browser.value(
        `[...document.querySelectorAll('[data-text]')].filter((e) => !e.textContent.trim()).map((e) => e.dataset.text).join()`),
    '');
    that(`${what}: nothing is left to fill in`, !/\{\w+\}|undefined/.test(await browser.value('document.body.innerText')));
    that(`${what}: no scrolling sideways`, await browser.value('document.documentElement.scrollWidth <= innerWidth'));
}

async function keep(browser, name) {
    if (!pictures) return;
    for (const id of SECTIONS) await browser.picture(path.join(pictures, `${name}_${id}.png`), `#${id}`);
}

// A reader at a desk, in English, with the keyboard alone.
async function atADesk() {
    const b = await ready('en', { width: 1280, height: 900 });
    const painted = `performance.getEntriesByName('first-contentful-paint')[0]?.startTime`;
    await b.until(`${painted} !== undefined`);
    const paint = await b.value(painted);
    console.log(`first paint after ${Math.round(paint)} ms`);
    same('the language', await b.value('document.documentElement.lang'), 'en');
    await texts(b, 'English');
    await walk(b, 'English');

    // Section 1: nothing has the focus, so the arrow keys step.
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
    await b.key('a', { ctrl: true });
    await b.type('y = x x x');
    same('a right one removes that', await b.value(text('#formula-error')), '');
    await tabTo(b, '#gradient-stepper input');
    await b.key('End');
    that('what is used twice in a step has one sum',
        (await b.value(text('#gradient-words'))).includes('dx = dp x + dp x = 3 · 3 + 3 · 3 = 18'),
        await b.value(text('#gradient-words')));

    // Section 2: a wrong rule, a right one.
    await tabTo(b, '#rule-backward');
    await b.key('Enter', { ctrl: true });
    that('half of the gradient', (await b.value(text('#rule-report'))).includes('each is 0.5 times the correct value'),
        await b.value(text('#rule-report')));
    await b.key('a', { ctrl: true });
    await b.type('dx = 2 dy x');
    await b.key('Enter', { ctrl: true });
    that('the right rule', (await b.value(text('#rule-verdict'))).startsWith('✓'));

    // Section 3. It takes half a second; the limit leaves room for a machine that does many other things.
    await tabTo(b, '#spiral .run');
    await b.key('Enter');
    await b.until(`${text('#spiral-hash')} !== ''`);
    that('the hash of the spiral', (await b.value(text('#spiral-hash'))).includes('prints the same'),
        await b.value(text('#spiral-hash')));
    const seconds = Number((await b.value(text('#spiral-state'))).match(/([\d.]+) s of computing/)[1]);
    console.log(`501 steps of the spiral: ${seconds} s of computing`);
    that('the time of the spiral', seconds < 20, seconds);

    // Section 4: 16 blocks.
    await tabTo(b, '#race-depth');
    for (let i = 0; i < 15; i++) await b.key('ArrowRight');
    await tabTo(b, '#race .run');
    await b.key('Enter');
    await b.until(`${text('#race-state')}.includes('step 200')`);
    const [, plain, skip] = (await b.value(text('#race-state'))).match(/loss ([\d.]+), x \+ f\(x\) has (.*)\.$/);
    that('f(x) of 16 blocks learns nothing, x + f(x) does', plain > 0.9 && (skip < 0.01 || skip.includes('× 10⁻')),
        `${plain} and ${skip}`);

    // Section 5: a word moved by keys, and the heat.
    const kept = async () => Number((await b.value(text('#geometry-area'))).match(/([\d.]+) %/)[1]);
    await tabTo(b, '#temperature');
    const before = await kept();
    await b.key('End');
    that('heat shrinks the polygon', await kept() < before / 10, await kept());
    await tabTo(b, '#plane g.word');
    await b.key('ArrowUp');
    same('a word moved by keys', await b.value(`document.activeElement.getAttribute('aria-valuetext')`), 'x −1.7, y −0.8');

    // Sections 6 and 7: all three runs, then each step of the Transformer's backward pass.
    await tabTo(b, '#bits-run');
    await b.key('Enter');
    await b.until(`document.querySelectorAll('#bits-table .good, #bits-table .bad').length === 3`, 120);
    same('equal hashes', await b.value(`document.querySelectorAll('#bits-table .good').length`), 3);
    that('it reverses', (await b.value(text('#answer'))).includes('6 of 6 right'));
    await b.value(`document.querySelector('#transformer-stepper input').focus()`);
    await b.key('Home');
    const steps = await b.value(`Number(document.querySelector('#transformer-stepper input').max)`);
    for (let i = 1; i < steps; i++) {
        await b.key('ArrowRight');
        const rule = await b.value(text('#transformer-words .gradient'));
        that(`step ${i + 1}: a rule in x, W, y`, !/[a-z]{3}\d/.test(rule), rule);
    }
    that('the last step is an embedding', (await b.value(text('#transformer-words'))).includes('embedding'));
    await texts(b, 'English, after all');
    await keep(b, '1280_en');
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

// A phone, in Japanese, and the change of the language.
async function onAPhone() {
    const b = await ready('ja', { width: 390, height: 844, phone: true });
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
        that(`formula ${formula}: constants are numbers`, !/const\d/.test(await b.value(text('#gradient'))));
    }
    await keep(b, '390_ja');
    await b.value(`document.querySelector('#languages button').click()`);
    await texts(b, 'changed to English');
    that('no Japanese is left', !/[ぁ-んァ-ン]/.test(await b.value(text('main'))),
        await b.value(`${text('main')}.match(/.{9}[ぁ-んァ-ン]+/)?.[0] ?? ''`));
    await keep(b, '390_en');
    same('complaints of the console', b.complaints.join('; '), '');
    await b.close();
}

atADesk().then(onAPhone).then(() => finish(), (error) => { finish(error); process.exit(); });
