// The sections: their numbers, the list of them, the one in view, and the lecture mode, which shows one section in large type.

const sections = () => [...document.querySelectorAll('main > section')];
const numberOf = (id) => sections().findIndex((s) => s.id === id) + 1;

let lecture = false, shown = null;                          // shown: the section of the lecture

function sectionInView() {
    if (lecture) return shown;
    return sections().filter((s) => s.getBoundingClientRect().top < innerHeight / 2).pop() ?? null;
}

function showSection(section) {
    shown = section;
    if (lecture) {
        sections().forEach((s) => s.classList.toggle('shown', s === section));
        const n = sections().indexOf(section);
        find('#lecture-place').textContent = `${n + 1} / ${sections().length}`;
        find('#lecture-back').disabled = n === 0;
        find('#lecture-on').disabled = n === sections().length - 1;
        drawAgain();
        scrollTo({ top: 0 });
    } else {
        section.scrollIntoView();
    }
    find('h2', section).focus({ preventScroll: true });
    noteChange();
}

function setLecture(on) {
    const section = sectionInView() ?? sections()[0];
    lecture = on;
    document.documentElement.classList.toggle('lecture', on);
    find('#lecture-bar').hidden = !on;
    sections().forEach((s) => s.classList.remove('shown'));
    if (!on) drawAgain();
    showSection(section);
}

// The section n places further on, if there is one.
function turn(n) {
    const next = sections()[sections().indexOf(shown) + n];
    if (next) showSection(next);
}

function startSections() {
    const list = find('#sections');
    sections().forEach((section, i) => {
        const heading = find('h2', section);
        heading.dataset.number = i + 1;
        heading.tabIndex = -1;
        const to = element('a', { href: `#${section.id}`, 'data-text': `${section.id}_short` });
        list.append(element('li', {}, to));
    });
    for (const to of document.querySelectorAll('a[href^="#"]')) {
        to.addEventListener('click', (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;   // for another window
            event.preventDefault();
            showSection(find(to.getAttribute('href')));
        });
    }
    find('#lecture').addEventListener('click', () => setLecture(true));
    find('#lecture-off').addEventListener('click', () => setLecture(false));
    find('#lecture-back').addEventListener('click', () => turn(-1));
    find('#lecture-on').addEventListener('click', () => turn(1));
    document.addEventListener('keydown', (event) => {
        if (!lecture || withCommand(event)) return;
        // The remote controls of lecturers send these keys.
        const n = { PageUp: -1, PageDown: 1 }[event.key];
        if (n) turn(n);
        else if (event.key === 'Escape') setLecture(false);
        else return;
        event.preventDefault();
    });
    addEventListener('scroll', noteChange, { passive: true });
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
    const section = sections().find((s) => s.id === link.section);
    history.scrollRestoration = section ? 'manual' : 'auto';
    shown = section ?? null;
    if (section) section.scrollIntoView();
    if (inLecture) setLecture(true);
}
