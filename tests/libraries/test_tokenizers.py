"""tokenizer.json files of the library tokenizers, one for each recipe that kaeru reads: ids and decoded texts are equal for
thousands of random texts of all scripts. Vocabularies that kaeru exports are opened by AutoTokenizer of transformers."""
import ctypes
import json
import os
import pathlib
import random
import subprocess

os.environ["HF_HUB_OFFLINE"] = "1"              # read by the libraries when they are imported
from check import BUILD, check, enter_folder, finish
from texts import (BPE, CHARS, END, PROSE, SCRIPTS, START, WORDPIECE, Vocab, all_characters, kaeru, random_texts)
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers)
from transformers import AutoTokenizer

TEXTS = 1500                                    # for each recipe


# ---- recipes ---------------------------------------------------------------------------------------------------------

def bytes_level(prefix=False, regex=True):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")


def both(first, second):
    return pre_tokenizers.Sequence([first, second])


def isolated(regex):
    return pre_tokenizers.Split(Regex(regex), "isolated")


# name: pre-tokenizer, normalizer, whether tokens are bytes. The merges are learned from whole lines, so they cross words.
N, P = normalizers, pre_tokenizers
RECIPES = {
    "plain": (bytes_level(), None, True),
    "prefix_space": (bytes_level(prefix=True), None, True),
    "no_regex": (bytes_level(regex=False), None, True),
    "prefix_no_regex": (bytes_level(prefix=True, regex=False), None, True),
    "nfc": (bytes_level(), N.NFC(), True),
    "nfd": (bytes_level(), N.NFD(), True),
    "nfkc": (bytes_level(), N.NFKC(), True),
    "nfkd": (bytes_level(prefix=True), N.NFKD(), True),
    "lowercase": (bytes_level(), N.Lowercase(), True),
    "strip": (bytes_level(prefix=True), N.Strip(), True),
    "strip_right": (bytes_level(), N.Strip(left=False), True),
    "several": (bytes_level(prefix=True), N.Sequence([N.NFKC(), N.Lowercase(), N.Strip(right=False), N.NFD()]), True),
    "lower_nfkc": (bytes_level(), N.Sequence([N.Lowercase(), N.NFKC()]), True),
    "gpt2_split": (both(isolated(GPT2), bytes_level(regex=False)), None, True),
    "llama3_split": (both(isolated(LLAMA3), bytes_level(regex=False)), None, True),
    "qwen2_split": (both(isolated(QWEN2), bytes_level(prefix=True)), N.NFC(), True),
    "digits": (both(P.Digits(individual_digits=True), bytes_level()), None, True),
    "numbers": (both(P.Digits(), bytes_level(prefix=True)), None, True),
    "whitespace_bytes": (both(P.Whitespace(), bytes_level()), None, True),
    "whitespace_prefix": (both(P.Whitespace(), bytes_level(prefix=True)), N.Lowercase(), True),
    "whitespace_split_bytes": (both(P.WhitespaceSplit(), bytes_level(prefix=True, regex=False)), N.NFKC(), True),
    "whitespace": (P.Whitespace(), None, False),
    "whitespace_split": (P.WhitespaceSplit(), N.Sequence([N.NFD(), N.Lowercase()]), False),
    "whitespace_digits": (both(P.Whitespace(), P.Digits(individual_digits=True)), None, False),
    "characters": (None, None, False),
    "bert_bytes": (both(P.BertPreTokenizer(), bytes_level()), N.BertNormalizer(), True),
    "bert_characters": (P.BertPreTokenizer(), N.Sequence([N.NFKC(), N.BertNormalizer(lowercase=False)]), False),
}
LINES = [PROSE, PROSE.lower(), *SCRIPTS, "abc def <x> <s> 12 34"] * 12


# Beside its letter, "\u0001" is an added token that the vocabulary has.
def train(name, more=None, unknown=None, fuse=False, ignore=False):
    splitter, normalizer, of_bytes = RECIPES[name]
    tokenizer = Tokenizer(models.BPE(unk_token=unknown, fuse_unk=fuse))
    if of_bytes:
        tokenizer.pre_tokenizer = bytes_level(regex=False)
        tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(LINES, trainers.BpeTrainer(
        vocab_size=900, max_token_length=6, show_progress=False,
        special_tokens=["<unk>", "<s>", "</s>", "<|end|>"] + ["\u0001"] * of_bytes,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if of_bytes else []))
    if splitter:
        tokenizer.pre_tokenizer = splitter
    tokenizer.add_tokens([AddedToken("<X>", normalized=True), AddedToken("#<x", normalized=False),
                          AddedToken("Def", normalized=True)])
    if more:
        more(tokenizer)
    data = json.loads(tokenizer.to_str())
    data["model"]["ignore_merges"] = ignore
    path = pathlib.Path(f"{name}.json")
    path.write_text(json.dumps(data), "utf8")
    return path


def compare(what, path, texts, decodes=True, kind=BPE):
    """Compares ids, decoded texts, and the tokens before and behind a text."""
    library, vocab = Tokenizer.from_file(str(path)), Vocab(path, kind)
    library.no_truncation()
    library.no_padding()
    if vocab.error:
        check(what, False, vocab.error)
        return
    wrong = []
    for text in texts:
        ids = library.encode(text, add_special_tokens=False).ids
        found = vocab.encode(text)
        start, end = vocab.special(START), vocab.special(END)
        whole = [start] * (start >= 0) + found + [end] * (end >= 0)
        if found != ids or whole != library.encode(text).ids or \
                (decodes and vocab.decode(ids) != library.decode(ids, skip_special_tokens=False)):
            wrong.append(text)
    check(f"{what}: ids and decoded texts of {len(texts)} texts", not wrong, f"{len(wrong)} differ, {wrong[:1]!r}")


def template(single, tokens):
    def add(tokenizer):
        tokenizer.post_processor = processors.TemplateProcessing(
            single=single, special_tokens=[(token, tokenizer.token_to_id(token)) for token in tokens])
    return add


def roberta(tokenizer):
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1), add_prefix_space=False)


def sequence(tokenizer):
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])])


def fused(tokenizer):
    tokenizer.decoder = decoders.Fuse()


def letters(tokenizer):
    """Adds tokens whose texts are letters of bytes, or of words of the vocabulary. They have the ids of these."""
    words = [token for token in tokenizer.get_vocab() if token[0] == "\u0120" and len(token) > 2]
    tokenizer.add_tokens(["\u00c9", "\u0130", "\u00c3", sorted(words)[0]])


def same_bytes(tokenizer):
    """Adds tokens that have the bytes of a token of the vocabulary, which has another text, as CodeGen and Phi do. Not those
    that text.h tells of: tokenizers takes their letters for bytes when it decodes them."""
    decode = decoders.ByteLevel().decode
    texts = {token: decode([token]) for token in sorted(tokenizer.get_vocab())}
    texts = {token: text for token, text in texts.items() if decode([text]) == text}
    same = [text for token, text in texts.items() if len(text) < len(token) and text != "\n"]
    same += [text for token, text in texts.items() if token[0] == "\u0120" and text.strip()]
    check(f"there are tokens of the same bytes: {same[::9]!r}", len(same) > 20)
    tokenizer.add_tokens(["  ", AddedToken("\n", normalized=False), *same[::9]])
    tokenizer.add_special_tokens(["\t", *same[4::9]])


def compare_all():
    texts = random_texts(TEXTS)
    for name in "plain", "llama3_split", "nfkc", "lowercase":
        compare(f"{name} with added tokens of the same bytes", train(name, same_bytes),
                [*texts, "a  b   c\n\n d\t \u00e9 \u0001\u0001"])
    for name in "plain", "qwen2_split":
        compare(f"{name} with letters of bytes", train(name, letters), [*texts, "\u0250 x \u00c9", "\u0130\u00c3\u00e9"])
    for name in RECIPES:
        compare(name, train(name), texts)
    for name, more in (("closing", template("<s> $A </s>", ["<s>", "</s>"])), ("only_closing", template("$A </s>", ["</s>"])),
                       ("opening", template("<s> $A", ["<s>"])), ("roberta", roberta), ("sequence", sequence)):
        compare(name, train("plain", more), texts[:300])
    compare("fused decoder", train("whitespace", fused), texts)
    for name in "whitespace", "characters":
        compare(f"{name} with unk_token", train(name, unknown="<unk>"), texts)
        compare(f"{name} with fuse_unk", train(name, unknown="<unk>", fuse=True), texts)
        compare(f"{name} with ignore_merges", train(name, ignore=True), texts)
    characters = all_characters()
    for name in "nfkc", "nfd", "nfkd", "lowercase", "several", "numbers", "whitespace_bytes", "whitespace_split_bytes", "strip":
        compare(f"{name}, all code points", train(name), characters)


# ---- WordPiece -------------------------------------------------------------------------------------------------------

# name: what is before it, and the members of the model and of the trainer
BERT = P.BertPreTokenizer()
PIECES = {
    "wordpiece": (BERT, N.BertNormalizer(), {}),
    "wordpiece_cased": (BERT, N.BertNormalizer(lowercase=False), {}),
    "wordpiece_accents": (BERT, N.BertNormalizer(strip_accents=False), {}),
    "wordpiece_no_accents": (BERT, N.BertNormalizer(lowercase=False, strip_accents=True), {}),
    "wordpiece_unclean": (BERT, N.BertNormalizer(clean_text=False, handle_chinese_chars=False), {}),
    "wordpiece_short": (P.WhitespaceSplit(), N.Lowercase(), {"max_input_chars_per_word": 5}),
    "wordpiece_prefix": (P.Whitespace(), N.NFKC(), {"continuing_subword_prefix": "@@"}),
    "wordpiece_no_prefix": (None, None, {"continuing_subword_prefix": ""}),
}


def train_pieces(name):
    splitter, normalizer, how = PIECES[name]
    prefix = how.get("continuing_subword_prefix", "##")
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", **{"max_input_chars_per_word": 100} | how))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = BERT
    tokenizer.train_from_iterator(LINES, trainers.WordPieceTrainer(
        vocab_size=900, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
        continuing_subword_prefix=prefix))
    if splitter:
        tokenizer.pre_tokenizer = splitter
    tokenizer.add_tokens([AddedToken("<X>", normalized=True), AddedToken("#<x", normalized=False)])
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.decoder = decoders.WordPiece(prefix=prefix, cleanup=False)
    tokenizer.enable_truncation(9)
    tokenizer.enable_padding(length=9)
    path = pathlib.Path(f"{name}.json")
    tokenizer.save(str(path))
    return path


def compare_pieces():
    texts = random_texts(TEXTS) + ["[CLS] a[SEP]b [cls] [MASK]", "a" * 100, "\u00e9" * 101, "\u0000a", "##a # #a", "@@a"]
    characters = all_characters()
    for name in PIECES:
        compare(name, train_pieces(name), texts + characters * (name in ("wordpiece", "wordpiece_unclean")), kind=WORDPIECE)
    path = pathlib.Path("no_decoder.json")
    data = json.loads(train_pieces("wordpiece").read_text("utf8")) | {"decoder": None}
    path.write_text(json.dumps(data), "utf8")
    compare("WordPiece without a decoder", path, texts, kind=WORDPIECE)


# ---- what is refused -------------------------------------------------------------------------------------------------

def refused(what, path, words):
    error = Vocab(path).error
    check(what, error is not None and words in error, f"{error!r}, expected {words!r}")


def refuse_all():
    data = json.loads(train("plain").read_text("utf8"))
    for part, value, words in (
            ("pre_tokenizer", pre_tokenizers.Metaspace(), "pre_tokenizer Metaspace is not supported"),
            ("pre_tokenizer", pre_tokenizers.Punctuation(), "pre_tokenizer Punctuation is not supported"),
            ("normalizer", normalizers.Replace("a", "b"), "normalizer Replace is not supported"),
            ("decoder", decoders.WordPiece(), "decoder WordPiece is not supported"),
            ("decoder", decoders.Metaspace(), "decoder Metaspace is not supported")):
        tokenizer = Tokenizer.from_str(json.dumps(data))
        setattr(tokenizer, part, value)
        tokenizer.save("refused.json")
        refused(words, "refused.json", words)
    for model, words in ((models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"), "model WordPiece is not supported"),
                         (models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"), "model WordLevel is not supported"),
                         (models.Unigram([("a", 0.0)], 0, False), "model Unigram is not supported"),
                         (models.BPE({"a": 0}, [], byte_fallback=True), "model BPE with byte_fallback is not supported")):
        Tokenizer(model).save("refused.json")
        refused(words, "refused.json", words)


# ---- values of other types, and missing members ----------------------------------------------------------------------

ABSENT = "(absent)"
VALUES = [ABSENT, None, True, False, 0, 1, 0.5, "", "x", "true", [], {}]
# What kaeru does not look at, or reads by itself: a vocabulary's tokens.
UNREAD = ["version", "vocab", "merges", "pair", "type_id", "direction", "pad_id", "pad_type_id", "pad_token"]
# What kaeru says of a value that has the wrong type; of others it says that it does not support them.
TYPES = ["true or false", "a number", "a string", "an array", "an object"]
PARTS = [
    {"normalizer": {"type": "Strip", "strip_left": True, "strip_right": False},
     "padding": {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
                 "pad_token": "[PAD]"}},
    {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "Split", "pattern": {"Regex": GPT2}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}},
    {"post_processor": {"type": "Sequence", "processors": [
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                                  {"Sequence": {"id": "A", "type_id": 0}}],
         "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
         "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}]}},
    {"post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": True,
                        "add_prefix_space": False}},
]


def places(value, path=()):
    """The paths to all values but those that kaeru does not look at."""
    members = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else []
    for key, inside in members:
        if key not in UNREAD:
            yield (*path, key)
            yield from places(inside, (*path, key))


def with_value(data, path, value):
    """A copy of the data with this value in that place."""
    data = json.loads(json.dumps(data))
    inside = data
    for key in path[:-1]:
        inside = inside[key]
    if value == ABSENT:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return data


def library_opens(text):
    try:
        Tokenizer.from_str(text)
    except Exception:
        return False
    return True


def compare_types():
    usual, pieces = (json.loads(path.read_text("utf8")) for path in (train("plain"), train_pieces("wordpiece")))
    file = pathlib.Path("types.json")
    for kind, data in [(BPE, usual | parts) for parts in PARTS] + [(WORDPIECE, pieces | {"truncation": None, "padding": None})]:
        for path in places(data):
            for value in VALUES:
                if path[-1] == "continuing_subword_prefix" and value in ("x", "true"):
                    continue                    # tokenizers aborts: its merges are no tokens with this prefix
                text = json.dumps(with_value(data, path, value))
                file.write_text(text, "utf8")
                error, opens = Vocab(file, kind).error, library_opens(text)
                what = f"tokenizer.json with {value!r} as {'/'.join(map(str, path))}"
                if error is None:
                    check(f"{what} is opened, and by tokenizers", opens)
                else:
                    check(f"{what} is refused", not opens or not any(f"{path[-1]}: expected {t}" in error for t in TYPES),
                          error)


# ---- gpt export ------------------------------------------------------------------------------------------------------

def gpt(*arguments):
    done = subprocess.run([BUILD / "examples/gpt", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"gpt {arguments}: {done.stderr}")


def export(folder, text, bpe):
    """Trains a GPT for a step and exports it, as a user does."""
    pathlib.Path("data.txt").write_text(text * 40, "utf8", newline="")
    options = ["--steps", "1", "--batch", "1", "--layers", "1", "--heads", "1", "--width", "8", "--context", "16"]
    if bpe:
        gpt("tokenize", "--data", "data.txt", "--size", "400", "--out", "pairs_vocab")
        options += ["--vocab", "pairs_vocab/gpt_vocab.json", "--merges", "pairs_vocab/gpt_merges.txt"]
    gpt("train", "--data", "data.txt", *options, "--out", folder)
    gpt("export", "--checkpoint", f"{folder}/gpt_best.safetensors", "--out", folder)


def compare_exports():
    text = PROSE + "\n\u0000\t漢字 😀 <|endoftext|>\r\n\"\\é e\u0301  \u00a0 "
    texts = [text, PROSE, "", "é", "e\u0301", " a", "a  b\n\n", "\r\n \u0000 Hello", "WE'LL 12345"]
    random.seed(3)
    texts += ["".join(random.choice(text) for _ in range(random.randint(1, 40))) for _ in range(500)]
    for name, kind in (("characters", CHARS), ("pairs", BPE)):
        export(name, text, kind == BPE)
        folder = pathlib.Path(name)
        vocab = Vocab(folder / "vocab.json", kind, folder / "merges.txt" if kind == BPE else None)
        library, again = AutoTokenizer.from_pretrained(folder), Vocab(folder / "tokenizer.json")
        ids = [vocab.encode(t) for t in texts]
        check(f"gpt export, {name}: AutoTokenizer gives kaeru's ids",
              [library(t, add_special_tokens=True)["input_ids"] for t in texts] == ids)
        check(f"gpt export, {name}: AutoTokenizer decodes them", [library.decode(i) for i in ids] == texts)
        check(f"gpt export, {name}: kaeru opens the tokenizer.json", not again.error and
              [again.encode(t) for t in texts] == ids and [again.decode(i) for i in ids] == texts, again.error)
        check(f"gpt export, {name}: no more tokens than kaeru has", len(library) == kaeru.kaeru_vocab_size(
            ctypes.c_void_p(vocab.pointer)))


enter_folder()
compare_all()
compare_pieces()
refuse_all()
compare_types()
compare_exports()
finish()
