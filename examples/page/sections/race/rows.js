// How a block f is connected: the rows of examples/skip_lab. Each select.rows has them all; data-first is chosen at first.

const ROWS = ['plain', 'skip', 'scaled', 'rezero', 'scalars', 'highway', 'input', 'unet', 'skip-unet', 'dense', 'streams',
    'stochastic', 'pre-norm', 'post-norm'];
for (const select of document.querySelectorAll('select.rows')) {
    select.append(...ROWS.map((key) => element('option', { value: key, 'data-text': `rows_${key}` })));
    select.value = select.dataset.first;
}

// The places of two rows in the engine's list, and their names in a figure: what stands before the colon.
const placesOf = (engine, selects) => selects.map((s) => engine.json('race_rows').indexOf(s.value));
const rowNames = (selects) => selects.map((s) => say(`rows_${s.value}`).split(/[:：]/)[0]);
