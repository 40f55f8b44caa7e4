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
        noteChange();
    };
    const stepper = {
        root,
        at: () => Number(slider.value),
        go,
        by: (n) => go(Number(slider.value) + n),
        ended: (n) => slider.value === (n < 0 ? slider.min : slider.max),
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

// The stepper whose figure is in the middle of the window takes the arrow keys; in a lecture, the one of the slide.
function stepperInView() {
    return steppers.find(({ root }) => {
        const figure = root.closest('.figure'), box = figure.getBoundingClientRect(), middle = innerHeight / 2;
        if (!figure.getClientRects().length) return false;  // its section is not shown
        return lecture ? !root.closest('.off') : box.top <= middle && box.bottom >= middle;
    });
}

document.addEventListener('keydown', (event) => {
    const n = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const taken = event.target.closest?.('input, select, textarea, [role=slider], [data-cells], pre');
    if (!n || lecture || taken || withCommand(event)) return;
    const stepper = stepperInView();
    if (!stepper || stepper.ended(n)) return;
    stepper.by(n);
    event.preventDefault();
});
