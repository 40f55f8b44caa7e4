// unpack_test.js PAGE_HTML CHROMIUM FILE.k...: each file, which the native program has compressed, decompressed by the page's
// engine in node and, unless CHROMIUM is -, in that browser: the bytes of FILE.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const { that, finish } = require('./checks.js');
const { open } = require('./browser.js');

const [, , page, program, ...files] = process.argv;

// Runs in node and in the browser. Files are texts in base64; returns an array of such texts, or of what is wrong.
async function unpackAll(engineText, packed) {
    const engine = await loadEngine(engineText);
    const results = [];
    for (const base64 of packed) {
        const file = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
        engine.writeBytes(file);
        let state = engine.json('unpack_begin', file.length);
        while (!state.error && !state.ended) state = engine.json('unpack_step');
        results.push(state.error ?? btoa([...engine.intsAt(engine.call('unpack_tokens'), state.count)]
            .map((c) => String.fromCharCode(c)).join('')));
    }
    return results;
}

function check(where, results) {
    files.forEach((file, i) => that(`${where}: ${file}`,
        results[i] === fs.readFileSync(file.replace(/\.k$/, '')).toString('base64'), results[i].slice(0, 80)));
}

async function run() {
    const packed = files.map((file) => fs.readFileSync(file).toString('base64'));
    const context = vm.createContext({ ...globalThis, performance, WebAssembly, TextDecoder, TextEncoder, Blob, Response,
        DecompressionStream, atob, btoa });
    const script = path.join(__dirname, '../../examples/page/scripts/engine.js');
    vm.runInContext(fs.readFileSync(script, 'utf8') + String(unpackAll), context, { filename: script });
    const engine = fs.readFileSync(page, 'utf8').match(/<script [^>]*id="engine">([^<]*)<\/script>/)[1].trim();
    check('node', await context.unpackAll(engine, packed));
    if (program === '-') return;
    const browser = await open(program, `file://${encodeURI(path.resolve(page))}`);
    await browser.until("document.body?.classList.contains('ready')");
    check('Chromium', await browser.value(`(${unpackAll})(find('#engine').textContent.trim(), ${JSON.stringify(packed)})`));
    await browser.close();
}

run().then(() => finish(), (error) => { finish(error); process.exit(); });
