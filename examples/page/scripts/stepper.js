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

// The stepper whose figure is in the middle of the window takes the arrow keys; in a lecture, the nearest one of the section.
function stepperInView() {
    let best = null, distance = Infinity;
    for (const one of steppers) {
        const figure = one.root.closest('.figure'), box = figure.getBoundingClientRect();
        if (!figure.getClientRects().length) continue;      // its section is not shown
        const middle = innerHeight / 2, away = Math.max(0, box.top - middle, middle - box.bottom);
        if (away < distance) [best, distance] = [one, away];
    }
    return distance === 0 || lecture ? best : null;
}

document.addEventListener('keydown', (event) => {
    const n = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const taken = event.target.closest?.('input, select, textarea, [role=slider], [data-cells], pre');
    if (!n || taken || withCommand(event)) return;
    const stepper = stepperInView();
    if (stepper && !stepper.ended(n)) stepper.by(n);
    else if (lecture) turn(n);                              // behind the last step comes the next section
    else return;
    event.preventDefault();
});
