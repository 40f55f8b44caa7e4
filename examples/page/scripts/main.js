// The page. make.py puts each file in place of its line "@include", and the sections in place of the last one.
'use strict';

// @include texts.js
// @include state.js
// @include language.js
// @include engine.js
// @include draw.js
// @include formula.js
// @include lecture.js
// @include figure.js
// @include stepper.js
// @include training.js
// @sections

async function begin() {
    startSections();
    startFigures();
    keepControls();
    startLanguage();
    const engine = await loadEngine(find('#engine').textContent.trim());
    const bits = startBits(JSON.parse(find('#native').textContent));
    startGradient(engine);
    startRule(engine);
    startSpiral(engine, bits);
    startRace(engine);
    startLandscape(engine);
    startNorm(engine);
    startTokens(engine);
    startSoftmax(engine);
    startGeometry(engine);
    startPositions(engine);
    startHeads(engine);
    startMasks(engine);
    startBackward(engine, startTransformer(engine, bits));
    startNext(engine);
    startCompress(engine, find('#packed').textContent.trim());
    openSection();
    document.body.classList.add('ready');
}

begin().catch((error) => {
    find('#failure').textContent = `${say('failure')} ${error.message}`;
    find('#failure').hidden = false;
    console.error(error);
});
