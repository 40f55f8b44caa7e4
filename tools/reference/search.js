/* search.js: finds names and texts in `index` (index.js), whose rows are [name, place, text]. "/" goes to the field; arrows
 * choose, Enter opens. */
"use strict";
const field = document.getElementById("search"), list = document.getElementById("found");
let chosen = 0;

/* How well a row fits: 0 not at all. A name counts more than a text, a function more than a constant; "ag_", "torch.nn." and
 * the like need not be typed. */
function score(row, words) {
    const name = row[0].toLowerCase(), short = name.replace(/^(ag|nn|tensor)_|^torch\.(nn\.functional\.|nn\.)?/, "");
    const text = (name + " " + row[2]).toLowerCase(), first = words.join("_");
    if (!words.every(word => text.includes(word))) return 0;
    if (name === first || name === words.join(" ")) return 100;
    if (short === first) return (row[0] === row[0].toUpperCase() ? 80 : 90) - name.length / 100;
    if (short.startsWith(first) || name.startsWith(first)) return 70 - name.length / 100;
    if (words.every(word => name.includes(word))) return 50 - name.length / 100;
    return 20 - text.length / 1000;
}

function show() {
    const words = field.value.toLowerCase().split(/\s+/).filter(word => word);
    const rows = words.length === 0 ? [] : index.map(row => [score(row, words), row]).filter(pair => pair[0] > 0)
        .sort((a, b) => b[0] - a[0]).slice(0, 30);
    chosen = 0;
    list.replaceChildren(...rows.map(([, row], i) => {
        const item = document.createElement("li"), link = document.createElement("a"), name = document.createElement("b");
        link.href = row[1];
        name.textContent = row[0];
        link.append(name, row[2]);
        link.onclick = () => { list.hidden = true; };
        item.append(link);
        item.className = i === 0 ? "chosen" : "";
        return item;
    }));
    if (words.length > 0 && rows.length === 0) {
        const none = document.createElement("li");
        none.className = "none";
        none.textContent = "Nothing found";
        list.append(none);
    }
    list.hidden = words.length === 0;
}

field.addEventListener("input", show);
field.addEventListener("focus", show);
field.addEventListener("keydown", event => {
    const links = list.querySelectorAll("a");
    if (event.key === "Escape") list.hidden = true;
    if (links.length === 0) return;
    if (event.key === "Enter") links[chosen].click();
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : links.length - 1)) % links.length;
    links.forEach((link, i) => { link.parentNode.className = i === chosen ? "chosen" : ""; });
    links[chosen].scrollIntoView({ block: "nearest" });
});
document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== field) {
        event.preventDefault();
        field.select();
    }
});
document.addEventListener("click", event => { if (!event.target.closest(".search")) list.hidden = true; });
/* reference.html?find=softmax opens with the search done. */
field.value = new URLSearchParams(location.search).get("find") || "";
if (field.value) show();
