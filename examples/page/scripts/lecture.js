// The sections: their numbers, the list of them, the one in view, and the lecture mode.
//
// A lecture shows one slide of a section at a time: the question above, a figure below. An element with data-slide="1 2" is on
// these slides of its section, any other on all of them. Controls wait behind a key, except those with data-slide.

const sections = () => [...document.querySelectorAll('main > section')];
const numberOf = (id) => sections().findIndex((s) => s.id === id) + 1;

// shown: the section of the lecture; before it, the one that was last in view or chosen.
let lecture = false, shown = null, slide = 1;

function sectionInView() {
    if (lecture) return shown;
    return sections().filter((s) => s.getBoundingClientRect().top < innerHeight / 2).pop() ?? null;
}

const onSlides = (e) => e.dataset.slide.split(' ').map(Number);
const slidesOf = (section) => [...new Set([1, ...[...section.querySelectorAll('[data-slide]:not([hidden])')]
    .flatMap(onSlides)])].sort((a, b) => a - b);

function showSection(section, n = 1) {
    [shown, slide] = [section, n];
    if (lecture) {
        sections().forEach((s) => s.classList.toggle('shown', s === section));
        section.querySelectorAll('[data-slide]').forEach((e) => e.classList.toggle('off', !onSlides(e).includes(n)));
        closeAnswers();
        showPlace();
        setSettings(false);
        drawAgain();
        scrollTo({ top: 0 });
    } else {
        section.scrollIntoView();
    }
    find('h2', section).focus({ preventScroll: true });
    noteChange();
}

// Where the lecture is, in its bar.
function showPlace() {
    const at = sections().indexOf(shown), slides = slidesOf(shown), n = slides.indexOf(slide);
    find('#lecture-place').textContent = `${at + 1} / ${sections().length}`
        + (slides.length > 1 ? ` · ${n + 1} / ${slides.length}` : '');
    find('#lecture-list').value = shown.id;
    find('#lecture-back').disabled = at === 0 && n === 0;
    find('#lecture-on').disabled = at === sections().length - 1 && n === slides.length - 1;
}

function setLecture(on, n = 1) {
    const section = shown ?? sections()[0];
    lecture = on;
    document.documentElement.classList.toggle('lecture', on);
    find('#lecture-bar').hidden = !on;
    sections().forEach((s) => s.classList.remove('shown'));
    if (!on) {
        setSettings(false);
        document.querySelectorAll('.off').forEach((e) => e.classList.remove('off'));
        drawAgain();
    }
    showSection(section, slidesOf(section).includes(n) ? n : 1);
}

// The controls of the figure are seen, or not. A control that is hidden leaves the focus to the heading.
function setSettings(on) {
    document.documentElement.classList.toggle('settings', on);
    find('#lecture-settings').setAttribute('aria-pressed', String(on));
    find('h2', shown).focus({ preventScroll: true });
    if (on) closeAnswers();
}

const closeAnswers = () => shown.querySelectorAll('.ask').forEach((e) => { e.open = false; });

// Scrolls by what is seen of the text, if there is more of it. Returns whether there was.
function scrollOn(text, n) {
    const { scrollTop, scrollHeight, clientHeight } = text;
    const more = n > 0 ? scrollTop + clientHeight < scrollHeight - 1 : scrollTop > 0;
    if (more) text.scrollBy({ top: n * clientHeight, behavior: 'instant' });
    return more;
}

// The answer is in the place of the question, or the next lines of it, or the question again.
function turnAnswer() {
    setSettings(false);
    const ask = seen('.ask');
    if (ask.open && scrollOn(find('p', ask), 1)) return;
    ask.open = !ask.open;
    find('p', ask).scrollTop = 0;
}

// Whether lines of the answer wait below those that are seen.
function markAnswer(ask) {
    const { scrollTop, scrollHeight, clientHeight } = find('p', ask);
    ask.classList.toggle('more', scrollTop + clientHeight < scrollHeight - 1);
}

// The first of these that the lecture shows.
const seen = (selector) => [...shown.querySelectorAll(selector)].find((e) => e.getClientRects().length);

// The slide n places further on, if there is one: of this section, or of the one behind it.
function turn(n) {
    const slides = slidesOf(shown), other = sections()[sections().indexOf(shown) + n];
    const next = slides[slides.indexOf(slide) + n];
    if (next) showSection(shown, next);
    else if (other) showSection(other, n > 0 ? 1 : slidesOf(other).pop());
}

// What the arrow keys do: a step of the figure that is seen, or the next lines of its text; behind the last comes the next
// slide.
function onward(n) {
    const stepper = stepperInView(), text = seen('.letters');
    if (stepper && !stepper.ended(n)) stepper.by(n);
    else if (!text || !scrollOn(text, n)) turn(n);
}

// The keys of a lecture. PageUp and PageDown are those of remote controls.
const LECTURE_KEYS = {
    PageUp() { turn(-1); }, PageDown() { turn(1); }, ArrowLeft() { onward(-1); }, ArrowRight() { onward(1); },
    a() { turnAnswer(); }, c() { setSettings(!document.documentElement.classList.contains('settings')); },
    ' '() { seen('button.main:enabled')?.click(); },
    Escape() {
        if (document.activeElement.matches(FIELDS)) find('h2', shown).focus();
        else if (document.documentElement.classList.contains('settings')) setSettings(false);
        else setLecture(false);
    },
};

// What keeps a key for itself. A list has the other two arrow keys to choose with.
const WRITTEN = 'input[type=text], textarea', MOVED = 'input:is([type=range], [type=number]), [role=slider], [data-cells], pre';
const PRESSED = 'button, summary, select, input:is([type=checkbox], [type=file])';
const FIELDS = `${WRITTEN}, ${MOVED}, select, input`;
const KEPT = { a: WRITTEN, c: WRITTEN, ArrowLeft: `${WRITTEN}, ${MOVED}`, ArrowRight: `${WRITTEN}, ${MOVED}`,
    ' ': `${WRITTEN}, ${PRESSED}` };

function lectureKey(event) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key, act = LECTURE_KEYS[key];
    if (!act || event.isComposing || KEPT[key] && event.target.closest?.(KEPT[key])) return;
    act();
    event.preventDefault();
}

function startSections() {
    const list = find('#sections'), jump = find('#lecture-list'), titles = JSON.parse(find('#lessons').textContent);
    sections().forEach((section, i) => {
        const heading = find('h2', section);
        heading.dataset.number = i + 1;
        heading.tabIndex = -1;
        const lessons = element('p', { class: 'lesson' });
        heading.after(lessons);
        onLanguage(() => {
            lessons.textContent = section.dataset.lesson.split(' ')
                .map((n) => say('section_lesson', { n, title: titles[n][language] })).join(' ');
        }, section);
        const to = element('a', { href: `#${section.id}`, 'data-text': `${section.id}_short` });
        list.append(element('li', {}, to));
        const choice = element('option', { value: section.id });
        onLanguage(() => { choice.textContent = `${i + 1} ${say(`${section.id}_short`)}`; });
        jump.append(choice);
    });
    jump.addEventListener('change', () => showSection(find(`#${jump.value}`)));
    for (const ask of document.querySelectorAll('.ask')) {
        ask.addEventListener('toggle', () => markAnswer(ask));
        find('p', ask).addEventListener('scroll', () => markAnswer(ask));
    }
    for (const to of document.querySelectorAll('a[href^="#"]')) {
        to.addEventListener('click', (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;   // for another window
            event.preventDefault();
            showSection(find(to.getAttribute('href')));
        });
    }
    find('#lecture').addEventListener('click', () => setLecture(true));
    find('#lecture-off').addEventListener('click', () => setLecture(false));
    find('#lecture-back').addEventListener('click', () => onward(-1));
    find('#lecture-on').addEventListener('click', () => onward(1));
    find('#lecture-answer').addEventListener('click', turnAnswer);
    find('#lecture-settings').addEventListener('click', LECTURE_KEYS.c);
    document.addEventListener('keydown', (event) => { if (lecture && !withCommand(event)) lectureKey(event); });
    // A picture of a lecture has the size that the texts around it leave.
    const sizes = new ResizeObserver(() => { if (lecture) requestAnimationFrame(drawAgain); });
    for (const part of document.querySelectorAll('.figure svg, .fills')) sizes.observe(part);
    // The button of the lecture is above all sections: a reader who scrolls up to it keeps the one before.
    addEventListener('scroll', () => {
        if (!lecture && find('#lecture').getBoundingClientRect().bottom < 0) shown = sectionInView();
        noteChange();
    }, { passive: true });
    whereNow = () => sectionInView()?.id ?? '';
}

// To the section of the link, when all are drawn.
function openSection() {
    let width = innerWidth;
    addEventListener('resize', () => {
        if (innerWidth !== width) drawAgain();              // a phone changes the height whenever it scrolls
        width = innerWidth;
    });
    const inLecture = keep('lecture', 'false', () => String(lecture)) === 'true';
    const n = Number(keep('slide', '1', () => String(lecture ? slide : 1)) ?? 1);
    const section = sections().find((s) => s.id === link.section);
    history.scrollRestoration = section ? 'manual' : 'auto';
    shown = section ?? null;
    if (section) section.scrollIntoView();
    if (inLecture) setLecture(true, n);
}
