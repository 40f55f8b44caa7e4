// The page. Each section is a file; the script make.py puts them in place of the lines "@include".
'use strict';

// @include texts.js
// @include language.js
// @include engine.js
// @include draw.js
// @include formula.js
// @include stepper.js
// @include gradient.js
// @include spiral.js
// @include race.js
// @include transformer.js
// @include geometry.js
// @include rule.js
// @include bits.js

async function begin() {
    startLanguage();
    const engine = await loadEngine(find('#engine').textContent.trim());
    const bits = startBits(JSON.parse(find('#native').textContent));
    startGradient(engine);
    startSpiral(engine, bits);
    startRace(engine);
    startTransformer(engine, bits);
    startGeometry(engine);
    startRule(engine);
    document.body.classList.add('ready');
}

begin().catch((error) => {
    find('#failure').textContent = `${say('failure')} ${error.message}`;
    find('#failure').hidden = false;
    console.error(error);
});
