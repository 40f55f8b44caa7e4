// Training with a speed, and with a history that a slider runs through.

const CALM = matchMedia('(prefers-reduced-motion: reduce)').matches;

// Calls step() `rate()` times a second, 0: as often as there is time, then draw(), until step() returns false. A reader who
// wants reduced motion sees one picture a second.
function makeRunner(step, draw, rate) {
    const SLICE = 12;                                       // milliseconds of a frame: the page stays alive
    let running = false, last = 0, owed = 0, drawn = 0, request = 0;
    const frame = (now) => {
        if (!running) return;
        const end = performance.now() + SLICE;
        owed = rate() ? Math.min(owed + rate() * (now - last) / 1000, rate()) : Infinity;
        last = now;
        for (; owed >= 1 && running && performance.now() < end; owed--) running = step();
        if (!CALM || !running || now - drawn > 1000) {
            drawn = now;
            draw();
        }
        if (running) request = requestAnimationFrame(frame);
    };
    return {
        get running() { return running; },
        start() {
            if (running) return;
            [running, last, owed] = [true, performance.now(), 1];
            request = requestAnimationFrame(frame);
        },
        stop() {
            running = false;
            cancelAnimationFrame(request);
        },
    };
}

// The training of a section, with its buttons .run, .once and .again, its .speed and its .history. The history keeps what
// is needed to show each step again. options:
//     name         of the link's entry for the step that is shown
//     last()       how many steps there are
//     begin()      makes a new model
//     train()      takes a step and returns its loss, which is that of the weights before it
//     save()       what is kept of a step, such as a copy of the weights
//     restore(saved)
//     ended()      after the last step
//     again()      optional: the reader starts again
//     hurry()      optional: whether the speed does not count
//     draw()       shows all
function makeTraining(root, o) {
    const slider = find('.history input', root), speed = find('.speed', root);
    let history = [], shown = 0;
    if (CALM) speed.value = 0;
    const training = {
        losses: [], seconds: 0,
        get step() { return history.length - 1; },          // steps taken
        get shown() { return shown; },                      // the step that the figures show
        // Where a chart marks the step, once there is a choice.
        get marker() { return history.length > 1 ? shown : undefined; },
        get running() { return runner.running; },
        get waiting() { return wanted > 0; },               // for the step of the link
        stop() {
            wanted = 0;
            runner.stop();
        },
        run() { runner.start(); },
        start() {
            runner.stop();
            o.begin();
            Object.assign(training, { losses: [], seconds: 0 });
            [history, shown] = [[o.save()], 0];
        },
        again() {
            wanted = 0;
            o.again?.();
            training.start();
            redraw();
        },
        all() {
            wanted = 0;
            training.start();
            while (training.step < o.last()) once();
            redraw();
        },
        // The text for where it stands: say(untrained) before the first step.
        words(untrained) {
            if (shown === 0) return say(untrained);
            const loss = show(training.losses[shown - 1][1], 3);
            return say('training_state', { step: shown, loss, seconds: training.seconds.toFixed(2) });
        },
        drawButtons() {
            const { step } = training, done = step >= o.last();
            find('.run', root).textContent = say(runner.running ? 'pause' : done ? 'done' : 'train');
            for (const name of ['.run', '.once']) setDisabled(find(name, root), done);   // nothing is left to run
            slider.max = step;
            slider.value = shown;
            slider.disabled = step === 0;
            find('.history output', root).textContent = `${shown} / ${step}`;
        },
    };
    const once = () => {
        if (shown !== training.step) o.restore(history[training.step]);
        const from = performance.now(), loss = o.train();
        training.seconds += (performance.now() - from) / 1000;
        history.push(o.save());
        shown = training.step;
        training.losses.push([shown - 1, loss]);
        if (shown === o.last()) o.ended();
    };
    const redraw = () => { o.draw(); noteChange(); };
    // The step of the link is reached as fast as possible.
    let wanted = Number(keep(o.name, '0', () => String(Math.max(shown, wanted)))) || 0;
    const runner = makeRunner(() => {
        if (training.step < o.last()) once();
        if (training.step < wanted) return training.step < o.last();
        const reached = wanted > 0;
        wanted = 0;
        return !reached && training.step < o.last();
    }, redraw, () => wanted || o.hurry?.() ? 0 : Number(speed.value));
    const look = (step) => {
        training.stop();
        shown = Math.min(Math.max(step, 0), training.step);
        o.restore(history[shown]);
        redraw();
    };
    slider.addEventListener('input', () => look(Number(slider.value)));
    find('.run', root).addEventListener('click', () => {
        if (runner.running) training.stop();
        else runner.start();
        redraw();
    });
    find('.once', root).addEventListener('click', () => { training.stop(); once(); redraw(); });
    find('.again', root).addEventListener('click', training.again);
    training.open = () => {
        training.start();
        if (wanted > 0) runner.start();
    };
    return training;
}

// A button that is disabled would lose the focus: the button .again takes it.
function setDisabled(button, disabled) {
    if (disabled && button === document.activeElement) find('.again', button.parentElement).focus({ preventScroll: true });
    button.disabled = disabled;
}
