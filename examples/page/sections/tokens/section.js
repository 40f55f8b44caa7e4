// A sentence as tokens, ids and rows of a table.

function startTokens(engine) {
    const WIDTH = 4, ROWS = 6, SHOWN = 60;
    const sentence = find('#tokens-sentence'), merges = find('#tokens-merges');

    function draw() {
        sentence.placeholder = say('tokens_example');
        const text = sentence.value || say('tokens_example'), n = Number(merges.value);
        engine.write(text);
        const look = engine.json('tokens_look', new TextEncoder().encode(text).length, n, ROWS, WIDTH), { tokens } = look;
        find('output[for=tokens-merges]').textContent = n;
        const newest = n > 0 ? say('tokens_newest', { token: tokenText(look.newest), n }) : say('tokens_bytes');
        find('#tokens-state').textContent = say('tokens_state', { letters: [...text].length, tokens: tokens.length })
            + ` ${look.same ? say('tokens_same') : ''} ${newest}`;
        const list = find('#tokens-list'), shown = tokens.slice(0, SHOWN).map(({ id, bytes }) => tokenElement(bytes, id));
        const more = element('span', { role: 'listitem' }), rest = () => tokens.length - shown.length;
        const fill = () => {
            more.textContent = say('tokens_more', { n: rest() });
            list.replaceChildren(...shown, ...(rest() ? [more] : []));
        };
        for (fill(); isTooFull(list) && shown.length; fill()) shown.pop();
        const cell = (v) => `<td style="background:rgb(var(--${v < 0 ? 'vermilion' : 'blue'}-rgb) / ${
            Math.min(0.45, 0.2 * Math.abs(v)).toFixed(3)})">${v.toFixed(1).replace('-', '−')}</td>`;
        const head = ['token', 'id', 'row'].map((key) => `<th scope="col"${key === 'row' ? ` colspan="${WIDTH}"` : ''}>${
            say(`tokens_${key}`)}</th>`).join('');
        const table = element('tbody');
        tokens.slice(0, ROWS).forEach(({ id, bytes }, i) => {
            const row = element('tr', {}, element('th', { scope: 'row' }, tokenText(bytes)), element('td', {}, id));
            row.insertAdjacentHTML('beforeend', look.rows.slice(WIDTH * i, WIDTH * (i + 1)).map(cell).join(''));
            table.append(row);
        });
        find('#tokens-rows').innerHTML = `<thead><tr>${head}</tr></thead>`;
        find('#tokens-rows').append(table);
    }

    sentence.addEventListener('input', draw);
    merges.addEventListener('input', draw);
    onLanguage(draw);
}
