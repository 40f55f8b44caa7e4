#!/usr/bin/env python3
"""Makes a folder of seeds for each fuzz target from the test files: make_seeds.py FOLDER"""
import json
import pathlib
import sys
import zlib

TESTS = pathlib.Path(__file__).resolve().parent.parent
BAD, BPE = TESTS / "bad_files", TESTS / "fixtures" / "bpe"


def header_of(content):
    """A safetensors file in the target's second form: header, newline, values."""
    size = int.from_bytes(content[:8], "little")
    return b"\1" + content[8:8 + size].replace(b"\n", b" ") + b"\n" + content[8 + size:]


def directory_of(archive):
    """The directory of an .npz file, which is what the target's third form has."""
    start = archive.find(b"PK\1\2")
    end = archive.rfind(b"PK\6\6" if b"PK\6\6" in archive else b"PK\5\6")
    return b"\2" + archive[max(start, 0):max(end, 0)]


def without_vocab(tokenizer):
    """What follows the vocabulary in a tokenizer.json, for the bpe target's fourth form."""
    model = {key: value for key, value in tokenizer["model"].items() if key not in ("type", "vocab")}
    rest = {key: value for key, value in tokenizer.items() if key != "model"}
    return (json.dumps(model)[1:] + "," + json.dumps(rest)[1:]).encode()


def main():
    vocab, merges = (BAD / "good_vocab.json").read_bytes(), (BAD / "good_merges.txt").read_bytes()
    cases = json.loads((BPE / "cases.json").read_text("utf8"))
    texts = [case["text"].encode("utf8") for case in cases if len(case["text"]) < 300]
    files = [path.read_bytes() for path in sorted(BAD.glob("*.safetensors"))]
    whole = [path.read_bytes() for path in sorted(BAD.glob("*.json"))]
    whole_merges = [path.read_bytes() for path in sorted(BAD.glob("*.txt")) if path.name != "messages.txt"]
    arrays = [path.read_bytes() for path in sorted(BAD.glob("*.np[yz]"))]
    arrays += [path.read_bytes() for path in sorted((TESTS / "fixtures" / "files").glob("*.npy"))]
    npy = b"\x93NUMPY\1\0\72\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n" + bytes(8)     # in fuzz_tensors.c
    entry = (b"PK\1\2\24\0\24\0" + bytes(8) + zlib.crc32(npy).to_bytes(4, "little") +
             len(npy).to_bytes(4, "little") * 2 + b"\5" + bytes(13) + b"%s" + b"%s.npy")
    indices = [path.read_bytes() for path in sorted(BAD.glob("*.index.json"))]
    indices += [b'{"weight_map": {"x": "s", "y": "s"}}', b'{"weight_map": {"z": "s"}}']
    tokenizers = [json.loads(path.read_text("utf8")) for path in sorted(BAD.glob("*tokenizer.json")) if path.name[:3] != "cut"]
    tokenizers = [tokenizer for tokenizer in tokenizers if "model" in tokenizer]
    families = [path for path in (TESTS / "fixtures" / "tokenizers").glob("*.json") if not path.stem.endswith("_cases")]
    for family in [json.loads(path.read_text("utf8")) for path in sorted(families)]:
        added = [{**token, "id": 321 + i} for i, token in enumerate(family["added_tokens"])]
        tokenizers.append({**family, "added_tokens": added, "model": {**family["model"], "merges": ["a b", ["c", "d"]]}})
    configs = [path.read_bytes() for path in sorted(BAD.glob("*config.json"))]
    configs += [path.read_bytes() for path in sorted((TESTS / "fixtures" / "llama").glob("*/config.json"))]
    config = (BAD / "good.adapter" / "adapter_config.json").read_bytes()
    adapter = header_of((BAD / "good.adapter" / "adapter_model.safetensors").read_bytes())[1:]
    adapter_configs = [path.read_bytes() for path in sorted(BAD.glob("*.adapter/adapter_config.json"))]
    adapters = [header_of(path.read_bytes())[1:] for path in sorted(BAD.glob("*.adapter/*.safetensors"))]
    lines = [path.read_bytes() for path in sorted(BAD.glob("*.jsonl"))]
    numbers = ["0", "-0", "1.5", "-2e-3", "0.1", "9007199254740993", "1.7976931348623157e308",
               "2.4703282292062328e-324", "18446744073709551616", "1e400", "1E+05",
               "123456789012345678901234567890", "01", "1.", "-", "1e"]
    commands = ["--whole\n7", "--number=-2e-3\n--flag", "--name\nfile\n--whole=+12", "--whole\n9007199254740992",
                "--number\n1e400", "--number=nan", "--flag=1", "--help", "x", "--", "--name="]
    # shapes whose product is 0 modulo 2**64
    wrapping = [b'\1{"a":{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,0]}}\n' % shape
                for shape in ((1 << 32, 1 << 32), (1 << 61, 2))]
    whole.append(rb'{"\"\\\/\b\f\n\r\t": ["\u00e9\ud83d\udc38", true, false, null, -0, 1e-3, [], {}]}')
    seeds = {
        "adapter": [other + b"\0" + adapter for other in adapter_configs] + [config + b"\0" + other for other in adapters],
        "config": configs,
        "pairs": [flag + text for text in lines for flag in (b"\0", b"\1")],
        "json": whole,
        "json_peer": whole + [number.encode() for number in numbers],
        "options": [("fuzz\n" + command).encode() for command in commands],
        "number": [number.encode() for number in numbers],
        "safetensors": [b"\0" + file for file in files] + [header_of(file) for file in files if len(file) > 8]
                       + wrapping,
        "tensors": [b"\0" + array for array in arrays] + [b"\1" + array[10:] for array in arrays if array[:1] == b"\x93"]
                   + [directory_of(array) for array in arrays if array[:2] == b"PK"]
                   + [b"\2" + entry % (bytes(4), b"x") + entry % ((111).to_bytes(4, "little"), b"y")]
                   + [b"\3" + index for index in indices],
        "text": texts + whole,
        "bpe": [b"\0" + vocab + b"\0" + other + b"\0the other" for other in [merges, *whole_merges]]
               + [b"\0" + other + b"\0" + merges + b"\0the other" for other in whole]
               + [b"\1" + other + b"\0" + text for other, text in zip(whole_merges * 20, texts)]
               + [b"\2\x40" + text for text in texts]
               + [b"\3" + without_vocab(tokenizer) + b"\0<think>the  other 1234's" for tokenizer in tokenizers],
    }
    for target, contents in seeds.items():
        folder = pathlib.Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for i, content in enumerate(contents):
            (folder / f"{i:03}").write_bytes(content)


main()
