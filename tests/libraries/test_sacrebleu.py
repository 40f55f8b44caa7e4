"""Corpus BLEU of the library sacrebleu, beside that of the program translate: plain text, and sacrebleu -lc."""
import random

from check import check_close, enter_folder, finish, run
from sacrebleu.metrics import BLEU

enter_folder()
generator = random.Random(0)
WORDS = """a the cat dog sat on mat river house runs Tokyo Büsche Äpfel ÉCOLE naïve 猫 犬 Straße don't it's e.g. U.S. 3.14
1,000 10-12 5- -7 .5 x.y A,B "quoted" (brackets) &quot;entity&quot; &amp; &lt;b&gt; <skipped> 50% $5 a/b c:d;e !? ... --
co-operate #tag @name {x} [y] ^ _ ` ~ | = + *""".split()


def sentence(length):
    return " ".join(generator.choice(WORDS) for _ in range(length))


def noisy(text):
    words = [word.upper() if generator.random() < 0.1 else word for word in text.split() if generator.random() > 0.15]
    return " ".join(words)


for case in range(60):
    n = generator.choice([1, 2, 5, 20])
    references = [sentence(generator.randrange(0, 20)) for _ in range(n)]
    translations = [noisy(text) if generator.random() < 0.8 else sentence(generator.randrange(0, 20)) for text in references]
    for name, lines in ("references", references), ("translations", translations):
        with open(name, "w", encoding="utf-8", newline="\n") as f:
            f.writelines(f"{line}\n" for line in lines)
    for lower in False, True:
        found = float(run("tests/library_files", "bleu", "translations", "references", *(["lower"] if lower else [])))
        expected = BLEU(lowercase=lower).corpus_score(translations, [references]).score
        check_close(f"case {case}, lower case: {lower}", found, expected)

finish()
