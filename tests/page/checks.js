// checks.js: counts what passes and fails. finish() prints "N passed, N failed" as the last line and sets the exit status.
'use strict';
let passed = 0, failed = 0;

function that(what, good, more = '') {
    if (good) passed++;
    else failed++;
    if (!good) console.log(`FAILED: ${what}${more === '' ? '' : `: ${more}`}`);
}
const same = (what, found, expected) => that(what, found === expected, `${found}, expected ${expected}`);
const near = (what, found, expected, by = 1e-4) => that(what, Math.abs(found - expected) <= by,
    `${found}, expected ${expected}`);

function finish(error) {
    if (error) that('no exception', false, error.stack);
    console.log(`${passed} passed, ${failed} failed`);
    process.exitCode = failed ? 1 : 0;
}

module.exports = { that, same, near, finish };
