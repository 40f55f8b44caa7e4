"""What the scripts that compare ids of tokens share: texts of all scripts, and the vocabularies of kaeru."""
import ctypes
import random

from check import BUILD

CHARS, BPE, WORDPIECE = 0, 2, 4                # KaeruVocabKind
WITH_SPECIAL = 1                                # KaeruEncoding
START, END = 0, 1                               # KaeruSpecial


# ---- kaeru -----------------------------------------------------------------------------------------------------------

kaeru = ctypes.CDLL(str(BUILD / "libkaeru.so"))
kaeru.ag_error.restype = ctypes.c_char_p
for name in "kaeru_vocab_open", "kaeru_vocab_encode", "kaeru_vocab_decode":
    getattr(kaeru, name).restype = ctypes.c_void_p


class Vocab:
    """A vocabulary that kaeru has opened; `pointer` is None if it was refused, `error` says why."""

    def __init__(self, path, kind=BPE, merges=None):
        self.pointer = kaeru.kaeru_vocab_open(kind, str(path).encode(), merges and str(merges).encode())
        self.error = None if self.pointer else kaeru.ag_error().decode()

    def encode(self, text):
        data, count = text.encode(), ctypes.c_size_t()
        ids = kaeru.kaeru_vocab_encode(ctypes.c_void_p(self.pointer), data, ctypes.c_size_t(len(data)),
                                       WITH_SPECIAL, ctypes.byref(count))
        found = list((ctypes.c_int32 * count.value).from_address(ids)) if count.value else []
        kaeru.ag_free(ctypes.c_void_p(ids))
        return found

    def decode(self, ids):
        size = ctypes.c_size_t()
        text = kaeru.kaeru_vocab_decode(ctypes.c_void_p(self.pointer), (ctypes.c_int32 * len(ids))(*ids),
                                        ctypes.c_size_t(len(ids)), ctypes.byref(size))
        found = ctypes.string_at(text, size.value)
        kaeru.ag_free(ctypes.c_void_p(text))
        return found.decode("utf8", "replace")

    def special(self, which):
        return kaeru.kaeru_vocab_special(ctypes.c_void_p(self.pointer), which)


# ---- texts -----------------------------------------------------------------------------------------------------------

PROSE = "Hello there, how are you? It's 12345 o'clock. WE'LL see the ﬁne Ångström café, ½ of Ⅷ; naïve İstanbul ΣΑΣ. "
SCRIPTS = ["abcdefghij ABCXYZ .,!?'’-_/\\\"", "0123456789 ١٢٣ ½Ⅷ²৩", " \t\n\r\u00a0\u2003\u3000\u0085\u2028", "éàçœßÅÉİǅﬁﬀ",
           "αβγδΣσςΆΐ", "жщыёЖЩҐ", "אבגד ערבית العربية", "नमस्ते हिन्दी", "ภาษาไทย", "こんにちは カタカナ ｶﾞﾊﾟ 漢字", "한국어 각힣ᄀ각",
           "e\u0301a\u030a\u0323\u0327o\u0308\u0300", "😀👩\u200d👩🇯🇵\ufe0f", "①㍿ﷺ㎏Ⓐ𝔸ℌ™", "<s></s><|end|>#<x>abc", "𐐀𞤀ꟋᏣⱯ",
           "'s 't 're 'LL 'D"]


def random_texts(count):
    random.seed(2)
    texts = ["", " ", "  ", "a", " a", "a ", "\n", "<s>", "<s> a<s> b</s> ", PROSE, PROSE.upper(), " <|end|> x<|end|>"]
    while len(texts) < count:
        kinds = random.sample(SCRIPTS, random.randint(1, 3))
        if random.random() < 0.3:               # any characters, and any marks
            kinds.append([chr(c) for c in random.sample([*range(0xD800), *range(0xE000, 0x20000)], 20)])
        texts.append("".join(random.choice(random.choice(kinds)) for _ in range(random.randint(1, 30))))
    return texts


def all_characters():
    """Each code point between letters, in texts of 16 of them."""
    codes = [*range(1, 0xD800), *range(0xE000, 0x33480)]
    return ["".join(f"a{chr(c)}b {chr(c)}." for c in codes[i:i + 16]) for i in range(0, len(codes), 16)]
