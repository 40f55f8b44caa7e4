// A stepper: a slider with two buttons. The arrow keys also step when nothing that needs them has the focus.

const steppers = [];

// `root` contains a range input and two buttons, .back and .forward. Calls changed(step) at each change.
function makeStepper(root, changed) {
    const slider = find('input[type=range]', root);
    const go = (step) => {
        const wanted = Math.min(Math.max(step, Number(slider.min)), Number(slider.max));
        slider.value = wanted;
        find('.back', root).disabled = wanted === Number(slider.min);
        find('.forward', root).disabled = wanted === Number(slider.max);
        changed(wanted);
    };
    const stepper = {
        root,
        at: () => Number(slider.value),
        go,
        by: (n) => go(Number(slider.value) + n),
        length(last) { slider.max = last; },
        text(s) { slider.setAttribute('aria-valuetext', s); },
    };
    slider.addEventListener('input', () => go(Number(slider.value)));
    // A button that the last step disables would lose the focus: the slider takes it.
    for (const [name, n] of [['.back', -1], ['.forward', 1]]) {
        find(name, root).addEventListener('click', (event) => {
            stepper.by(n);
            if (event.currentTarget.disabled) slider.focus();
        });
    }
    steppers.push(stepper);
    return stepper;
}

// The stepper whose figure is in the middle of the window takes the arrow keys.
function stepperInView() {
    let best = null, distance = Infinity;
    for (const one of steppers) {
        const box = one.root.closest('.figure').getBoundingClientRect();
        const middle = innerHeight / 2, away = Math.max(0, box.top - middle, middle - box.bottom);
        if (away < distance) [best, distance] = [one, away];
    }
    return distance === 0 ? best : null;
}

document.addEventListener('keydown', (event) => {
    const n = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const taken = event.target.closest?.('input, select, textarea, [role=slider], pre');
    if (!n || taken || event.altKey || event.ctrlKey || event.metaKey) return;
    const stepper = stepperInView();
    if (!stepper) return;
    stepper.by(n);
    event.preventDefault();
});

// ---- work in slices, so that the page stays alive ------------------------------------------------------------------------

// Calls step() again and again for `milliseconds` in each frame, then draw(), until step() returns false.
function makeRunner(step, draw, milliseconds = 10) {
    let running = false;
    const frame = () => {
        if (!running) return;
        const end = performance.now() + milliseconds;
        do running = step(); while (running && performance.now() < end);
        draw();
        if (running) requestAnimationFrame(frame);
    };
    return {
        get running() { return running; },
        start() {
            if (running) return;
            running = true;
            requestAnimationFrame(frame);
        },
        stop() { running = false; },
    };
}

// ---- training ----------------------------------------------------------------------------------------------------------

// After the last step of training nothing is left to run. A button that is disabled would lose the focus: the button "Start
// again" takes it.
function setDone(root, done) {
    const focused = document.activeElement;
    for (const name of ['.run', '.once']) {
        const button = find(name, root);
        button.disabled = done;
        if (done && button === focused) find('.again', root).focus({ preventScroll: true });
    }
}

// Training for `last` steps, with the buttons .run, .once and .again of a section. begin() makes a new model, train() takes a
// step and returns its loss, ended() comes after the last step, and draw() shows all.
function makeTraining(root, last, { begin, train, ended, draw }) {
    const training = {
        step: 0, losses: [], seconds: 0,
        get running() { return runner.running; },
        stop() { runner.stop(); },
        start() {
            runner.stop();
            begin();
            Object.assign(training, { step: 0, losses: [], seconds: 0 });
        },
        again() { training.start(); draw(); },
        all() {
            training.start();
            while (training.step < last) once();
            draw();
        },
        // The text for where it stands: say(untrained) before the first step.
        words(untrained) {
            const { step, losses, seconds } = training;
            return step === 0 ? say(untrained)
                : say('spiral_state', { step, loss: show(losses[step - 1][1], 3), seconds: seconds.toFixed(2) });
        },
        drawButtons() {
            const { step } = training;
            find('.run', root).textContent = say(runner.running ? 'pause' : step >= last ? 'done' : 'train');
            setDone(root, step >= last);
        },
    };
    const once = () => {
        const from = performance.now(), loss = train();
        training.seconds += (performance.now() - from) / 1000;
        training.step++;
        training.losses.push([training.step, loss]);
        if (training.step === last) ended();
    };
    const runner = makeRunner(() => {
        if (training.step < last) once();
        return training.step < last;
    }, draw);
    find('.run', root).addEventListener('click', () => {
        if (runner.running) runner.stop();
        else runner.start();
        draw();
    });
    find('.once', root).addEventListener('click', () => { runner.stop(); once(); draw(); });
    find('.again', root).addEventListener('click', training.again);
    return training;
}
