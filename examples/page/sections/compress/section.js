// A text that the native program has compressed, decompressed here; then the reader's sentence, by the network that has learned
// from that text.

// packed: what the native program has made of sample.txt, in base64.
function startCompress(engine, packed) {
    const MOST_BYTES = 65535;
    const root = find('#compress'), run = find('.run', root), sentence = find('#sentence');
    const sample = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const letters = makeCosts(find('#compress-text')), own = makeCosts(find('#compress-own'));
    // What is decompressed, how far it is (null: not begun), and what is wrong with it: null or the arguments of say().
    let file = sample, state = null, error = null;

    // ---- the text --------------------------------------------------------------------------------------------------------

    function begin(bytes) {
        runner.stop();
        [file, state, error] = [bytes, null, null];
        letters.clear();
        own.clear();
        engine.writeBytes(bytes);
        take('unpack_begin', bytes.length);
    }

    // Asks the engine. A usage error, as for lack of memory, is the file's.
    function take(name, ...args) {
        let answer;
        try {
            answer = engine.json(name, ...args);
        } catch (failure) {
            if (!(failure instanceof EngineError)) throw failure;
            answer = { error: failure.message };
        }
        error = answer.error ? ['compress_error', { error: answer.error }] : null;
        state = answer.error ? null : answer;
    }

    function step() {
        if (!state.ended) take('unpack_step');
        return Boolean(state) && !state.ended;
    }

    const runner = makeRunner(step, () => { draw(); noteChange(); }, () => 0);

    // The bytes and their costs up to the first that is not known.
    function known() {
        const bits = engine.floatsAt(engine.call('unpack_bits'), state.count);
        const tokens = engine.intsAt(engine.call('unpack_tokens'), state.count);
        const n = bits.indexOf(0) < 0 ? state.count : bits.indexOf(0);
        return [Uint8Array.from(tokens.subarray(0, n)), bits.slice(0, n)];
    }

    function draw() {
        if (state) letters.show(...known(), state.ended);
        letters.label();
        run.textContent = say(runner.running ? 'pause' : state && !state.ended ? 'go_on' : 'compress_run');
        const key = !state ? 'compress_start' : state.ended ? 'compress_ended' : 'compress_state';
        find('#compress-state').textContent = error ? '' : say(key, { ...state, packed: file.length,
            bits: state?.count ? show(8 * file.length / state.count, 3) : 0 });
        find('#compress-error').textContent = error ? say(...error) : '';
        drawSentence();
    }

    run.addEventListener('click', () => {
        if (runner.running) {
            runner.stop();
        } else {
            if (!state || state.ended) begin(sample);
            runner.start();
        }
        draw();
        noteChange();
    });
    find('#compress-file').addEventListener('change', async (event) => {
        if (!event.target.files.length) return;
        const [chosen] = event.target.files;
        const large = chosen.size > MOST_BYTES;
        begin(large ? new Uint8Array(0) : new Uint8Array(await chosen.arrayBuffer()));
        if (large) error = ['compress_large', { n: MOST_BYTES }];
        event.target.value = '';                            // the same file can be chosen again
        if (state) runner.start();
        draw();
        noteChange();
    });

    // ---- the sentence ----------------------------------------------------------------------------------------------------

    let asked = '';                                         // what is drawn: a change of nothing draws nothing

    async function drawSentence() {
        const trained = Boolean(state?.ended), now = JSON.stringify([language, trained, sentence.value]);
        if (now === asked) return;
        asked = now;
        sentence.placeholder = say('compress_example');
        const bytes = new TextEncoder().encode(sentence.value || say('compress_example'));
        const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
        const deflated = (await new Response(stream).arrayBuffer()).byteLength;
        if (now !== asked) return;                          // another sentence has come meanwhile
        own.clear();
        let look = null;
        if (trained) {
            engine.writeBytes(bytes);
            look = engine.json('sentence_look', bytes.length);
            own.show(bytes, Float32Array.from(look.bits), true);
        }
        own.label();
        const size = (n) => n === undefined ? say('compress_not_yet')
            : `<span class="nb">${say('compress_bytes', { n })}</span>`;
        find('#compress-sizes').innerHTML = `<tbody>${[['before', bytes.length], ['deflated', deflated],
            ['untrained', look?.untrained], ['trained', look?.trained]].map(([key, n]) =>
            `<tr><th scope="row">${say(`compress_${key}`)}</th><td>${size(n)}</td></tr>`).join('')}</tbody>`;
        const back = look && look.trained >= 0 && look.untrained >= 0;
        find('#compress-back').innerHTML = back ? `<span class="good">${say('compress_back')}</span>` : '';
    }

    sentence.addEventListener('input', drawSentence);

    if (keep('unpacked', 'false', () => String(file === sample && state !== null)) === 'true') run.click();
    onLanguage(draw, root);
}
