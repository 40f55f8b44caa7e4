#!/usr/bin/env python3
"""Calls every public function with unusual arguments, and from inside every function that the library calls.

    test_calls.py SOURCE_FOLDER PROGRAM table|numbers|callbacks

table: tests/calls/calls.def has a call of each function of the public headers, which marks each of its integers, and
callbacks.c names each function that a program can give to the library. The others run PROGRAM (tests/calls/run.c).
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

# Functions without a call: to end a layer that another call has begun.
LEFT_OUT = {"ag_layer_end"}
# Integers that are not marked, since a wrong one cannot be noticed: the size of an array or of a struct.
SIZES = {"ag_resize": 1, "ag_resize_in": 1, "ag_add_to": 1, "ag_sum_squares": 1, "ag_custom": 1, "nn_optimizer_new": 1,
         "nn_check": 1, "nn_check_type": 1, "tensor_from": 1, "ag_shape_equal": 1, "ag_warning": 1}
# What a call marks for a parameter of a type that has integers in it.
MARKS = {"AgShape": 1, "AgDims": 1, "AgAttention": 1, "AgConv": 1, "AgRandom": 2, "GPTOptions": 4, "LlamaOptions": 4,
         "TransformerOptions": 4, "Seq2SeqOptions": 2, "KaeruBeamOptions": 4, "NnLoraOptions": 1, "NnParallelOptions": 1,
         "AgScope": 1}
# Members of structs that are functions, and the callback of callbacks.c for each.
CALLBACKS = {
    "begun": "watch_begun", "complete": "watch_complete", "AgFunction": "gradcheck", "forward": "custom_forward",
    "backward": "custom_backward", "AgTangent": "custom_tangent", "AgErrorHandler": "error_handler",
    "destroy": "destructor", "more_bytes": "llama_more_bytes",
    "progress": "load_progress", "started": "train_started", "stepped": "train_stepped", "evaluated": "train_evaluated",
    "KaeruNextToken": "generate", "KaeruNextBatch": "epoch_next", "KaeruBatchDone": "epoch_done", "done": "translate",
    "check": "fields_check", "belongs": "optimizer_group", "states": "optimizer_states", "update": "optimizer_update",
    "rename": "load_rename", "transposed": "load_transposed", "ignored": "load_ignored", "send": "processes_send",
    "receive": "processes_send", "peer": "processes_send", "fail": "processes_send", "end": "processes_end",
    "AgBody": "loop_body",
}


def headers(source):
    """The text of each public header, without comments and macros."""
    for folder in ("autograd/include", "nn/include", "models/include"):
        for path in sorted(glob.glob(os.path.join(source, folder, "kaeru", "*.h"))):
            with open(path, encoding="utf-8") as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            yield re.sub(r"^[ \t]*#(?:\\\n|[^\n])*\n", "", text, flags=re.M)


def functions(text):
    """The name of each function of a header, and its parameters."""
    for found in re.finditer(r"^(?:AG_NORETURN )?((?:const )?[A-Za-z_][\w ]*?[ *]+)(\w+)\(((?:[^()]|\([^()]*\))*)\)[^;{}()]*"
                             r"(?:\([^)]*\))?;", text, re.M):
        if not re.match(r"typedef|return|struct", found[1]):
            yield found[2], " ".join(found[3].split())


def integers(parameters):
    """How many integers a call of a function with these parameters has to mark."""
    n = 0
    for parameter in re.sub(r"\([^()]*\)", "", parameters).split(","):
        words = parameter.split()
        if "*" in parameter or "[" in parameter or len(words) < 2:
            continue
        n += 1 if words[-2] in ("int", "int32_t", "int64_t", "size_t", "uint64_t") else MARKS.get(words[-2], 0)
    return n


def check_table(source):
    wrong = []
    with open(os.path.join(source, "tests/calls/calls.def"), encoding="utf-8") as file:
        calls = dict(re.findall(r"^CALL\((\w+), (.*)\)$", re.sub(r"\n +", " ", file.read()), re.M))
    with open(os.path.join(source, "tests/calls/callbacks.c"), encoding="utf-8") as file:
        callbacks = set(re.findall(r"CALLBACK\((\w+)\)", file.read()))
    with open(os.path.join(source, "tests/calls/calls.h"), encoding="utf-8") as file:
        macros = {name: body for name, body in re.findall(r"^#define ([A-Z]{3,}) +((?:\\\n|.)*)", file.read(), re.M)}
    known, callbacks_known = 0, 0
    for text in headers(source):
        for name, parameters in functions(text):
            if name in LEFT_OUT:
                continue
            known += 1
            call = calls.pop(name, None)
            if call is None:
                wrong.append(f"calls.def has no call of {name}({parameters})")
                continue
            for macro, body in macros.items():
                call = re.sub(rf"\b{macro}\b", lambda _, body=body: body, call)
            marked = len(re.findall(r"\b(?:I|LENGTH|COUNT)\(", call))
            if marked < integers(parameters) - SIZES.get(name, 0):
                wrong.append(f"calls.def marks {marked} integers of {name}({parameters})")
        given = re.findall(r"\(\*(\w+)\)\(", text) + re.findall(r"^typedef [\w ]+?\W(\w+)\([^)]*\);", text, re.M)
        callbacks_known += len(given)
        for function in given:
            if CALLBACKS.get(function) not in callbacks:
                wrong.append(f"callbacks.c has no callback for {function}")
    wrong += [f"calls.def calls {name}, which no header declares" for name in calls]
    if known < 400 or callbacks_known < 25:
        wrong.append(f"only {known} functions and {callbacks_known} callbacks were found")
    print("\n".join(wrong) or f"{known} functions")
    return 1 if wrong else 0


def main(source, program, what):
    if what == "table":
        return check_table(source)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None     # many calls save files
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        return subprocess.run([program, what, folder], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
