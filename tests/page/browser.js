// browser.js: a headless Chromium, driven through the pipe of its DevTools protocol; needs nothing but node.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const described = (details) => details.exception?.description ?? details.text;

// Starts the browser and opens a page of that size. The caller must call close().
async function open(program, url, { width = 1280, height = 900, phone = false } = {}) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'page-'));
    const child = spawn(program, ['--headless', '--hide-scrollbars', '--no-sandbox', '--disable-gpu',
        '--disable-dev-shm-usage', '--no-first-run',
        '--remote-debugging-pipe', `--user-data-dir=${folder}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore',
            'pipe', 'pipe'] });
    const waiting = new Map(), complaints = [], loaded = [];
    let last = 0, rest = '';

    // After an exception nobody calls close().
    const clean = () => {
        child.kill('SIGKILL');
        fs.rmSync(folder, { recursive: true, force: true });
    };
    process.once('exit', clean);
    const gone = new Promise((resolve) => child.on('exit', resolve));
    gone.then(() => waiting.forEach(({ reject }) => reject(new Error('the browser has ended'))));
    child.on('error', (error) => waiting.forEach(({ reject }) => reject(error)));

    // Messages are JSON with a NUL behind each.
    child.stdio[4].setEncoding('utf8');
    child.stdio[4].on('data', (text) => {
        const parts = (rest + text).split('\0');
        rest = parts.pop();
        parts.forEach((part) => receive(JSON.parse(part)));
    });
    child.stdio[3].on('error', () => {});

    function receive(message) {
        if (message.id) {
            const { resolve, reject, method } = waiting.get(message.id);
            waiting.delete(message.id);
            if (message.error) reject(new Error(`${method}: ${message.error.message}`));
            else resolve(message.result);
        } else if (message.method === 'Runtime.exceptionThrown') {
            complaints.push(described(message.params.exceptionDetails));
        } else if (message.method === 'Runtime.consoleAPICalled' && ['error', 'warning',
            'assert'].includes(message.params.type)) {
            complaints.push(message.params.args.map((a) => a.value ?? a.description).join(' '));
        } else if (message.method === 'Log.entryAdded' && message.params.entry.level === 'error') {
            complaints.push(message.params.entry.text);
        } else if (message.method === 'Page.loadEventFired') {
            loaded.forEach((resolve) => resolve());
        }
    }

    const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject, method });
        child.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + '\0');
    });

    const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
    const tell = (method, params) => send(method, params, sessionId);
    for (const domain of ['Page', 'Runtime', 'Log']) await tell(`${domain}.enable`);
    await tell('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: phone });

    const browser = {
        width,
        // Opens an address, or the same again, and waits until it is loaded.
        async go(address) {
            const whenLoaded = new Promise((resolve) => loaded.push(resolve));
            await tell(address ? 'Page.navigate' : 'Page.reload', address ? { url: address } : {});
            await whenLoaded;
        },
        complaints,                                         // errors and warnings of the console, and exceptions
        tell,
        // The value of an expression in the page; promises are awaited.
        async value(expression) {
            const { result, exceptionDetails } = await tell('Runtime.evaluate', { expression, returnByValue: true,
                awaitPromise: true });
            if (exceptionDetails) throw new Error(`${expression}: ${described(exceptionDetails)}`);
            return result.value;
        },
        // Waits until the expression is true.
        async until(expression, seconds = 60) {
            for (const end = Date.now() + 1000 * seconds; Date.now() < end;) {
                if (await browser.value(expression)) return;
                await new Promise((resolve) => setTimeout(resolve, 50));
            }
            throw new Error(`still false after ${seconds} s: ${expression}`);
        },
        // Presses a key as a keyboard does. `shift` is for Tab backwards.
        async key(name, { shift = false, ctrl = false } = {}) {
            const codes = { Tab: 9, Enter: 13, ' ': 32, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Home: 36,
                End: 35, PageUp: 33, PageDown: 34, Escape: 27, a: 65 };
            const text = name === 'Enter' ? '\r' : name.length === 1 && !ctrl ? name : undefined;
            const event = { key: name, code: name === ' ' ? 'Space' : name, windowsVirtualKeyCode: codes[name] ?? 0,
                modifiers: (shift ? 8 : 0) + (ctrl ? 2 : 0), commands: ctrl && name === 'a' ? ['selectAll'] : [] };
            await tell('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', text, ...event });
            await tell('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
        },
        // Moves the mouse, or a finger, to the middle of what expression names, moved by some pixels.
        async point(expression, { by = [0, 0], touch = false } = {}) {
            const { x, y } = await browser.value(`(() => {
                const e = ${expression};
                e.scrollIntoView({ block: 'center', behavior: 'instant' });
                const b = e.getBoundingClientRect();
                return { x: b.x + b.width / 2 + ${by[0]}, y: b.y + b.height / 2 + ${by[1]} }; })()`);
            if (!touch) {
                await tell('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
            } else {
                await tell('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
                await tell('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
            }
        },
        // Emulates a medium (print, screen) and preferences: { 'prefers-color-scheme': 'dark' }.
        prefer: (features, media = '') => tell('Emulation.setEmulatedMedia', { media,
            features: Object.entries(features).map(([name, value]) => ({ name, value })) }),
        type: (text) => tell('Input.insertText', { text }),
        // Chooses a file in a file input.
        async give(selector, file) {
            const { result } = await tell('Runtime.evaluate', { expression: `document.querySelector('${selector}')` });
            await tell('DOM.setFileInputFiles', { objectId: result.objectId, files: [path.resolve(file)] });
        },
        // Writes a picture of the element, or of the whole page.
        async picture(file, selector = 'html') {
            const clip = await browser.value(`(() => {
                const b = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect();
                return { x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, scale: 1 }; })()`);
            const { data } = await tell('Page.captureScreenshot', { clip, captureBeyondViewport: true });
            fs.writeFileSync(file, Buffer.from(data, 'base64'));
        },
        async close() {
            await send('Browser.close').catch(() => {});
            await gone;
            process.off('exit', clean);
            fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
        },
    };
    await browser.go(url);
    return browser;
}

module.exports = { open };
