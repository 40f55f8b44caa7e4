// The hashes of the trained weights, beside those of the native program.

const HASHED = ['spiral', 'sort', 'reverse'];

// native: what the native program printed when the page was made: { spiral: { steps, hash }, ... }.
function startBits(native) {
    const here = {}, runs = {};
    const written = (hash) => lecture ? `${hash.slice(0, 24)}…` : hash;       // a lecture has no room for more
    const draw = () => {
        const rows = HASHED.map((name) => {
            const mine = here[name];
            const verdict = !mine ? '' : mine === native[name].hash ? `<span class="good">${say('bits_equal')}</span>`
                : `<span class="bad">${say('bits_differ')}</span>`;
            return `<tr><th scope="row">${say(`bits_${name}`)}<br>${verdict}</th>`
                + `<td>${say('bits_native')} <code>${written(native[name].hash)}</code><br>`
                + `${say('bits_here')} <code id="hash-${name}">${mine ? written(mine) : say('bits_not_yet')}</code></td></tr>`;
        });
        find('#bits-table').innerHTML = `<tbody>${rows.join('')}</tbody>`;
    };
    find('#bits-run').addEventListener('click', async () => {
        find('#bits-run').disabled = true;
        for (const name of HASHED) {
            await new Promise((resume) => setTimeout(resume, 20));     // lets the browser draw the last row
            runs[name]();
        }
        find('#bits-run').disabled = false;
        find('#bits-run').focus();
    });
    onLanguage(draw, find('#bits'));
    return {
        native,
        // A section tells how its model is trained at once, and the hash that it found.
        onRun(name, run) { runs[name] = run; },
        found(name, hash) {
            here[name] = hash;
            draw();
        },
        // A sentence for the section.
        sentence(name, hash) {
            return `${say('hash', { hash: `<code>${hash}</code>` })} ${hash === native[name].hash
                ? `<span class="good">${say('hash_equal')}</span>` : `<span class="bad">${say('hash_differs')}</span>`}`;
        },
    };
}
