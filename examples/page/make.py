#!/usr/bin/env python3
"""Writes the page, one HTML file: make.py BUILD OUT_HTML

BUILD is a build folder of meson, which has the headers that the build writes and the native programs examples/page and
examples/compress. The engine is compiled to WebAssembly in BUILD/page by clang, with wasi-libc and lld. What page prints, the
hashes of the trained weights, becomes a part of the page, which compares them with its own. So does a text that compress has
compressed, which the page decompresses.
"""
import base64
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LARGEST = 600 * 1000

# The sections in their order. Each is a folder of sections/ with section.html and scripts; its texts are in texts.js.
SECTIONS = ["gradient", "rule", "spiral", "race", "landscape", "norm", "softmax", "geometry", "positions", "transformer",
            "compress", "bits"]

# How the text of the section compress is compressed: a network that a page can train in seconds.
PACKED = ["--layers", "1", "--heads", "2", "--window", "32", "--rate", "10000"]

# ---- the engine --------------------------------------------------------------------------------------------------------

# The library's own sources, with the pool of one thread. In the place of the files are those of the folder wasm.
SOURCES = ["autograd/*.c", "autograd/system/system.c", "autograd/shared/utf8.c", "autograd/ops/*.c", "autograd/debug/*.c",
           "autograd/fast/*.c", "autograd/higher/*.c", "autograd/memory/*.c", "autograd/more/*.c", "autograd/ops/more/*.c",
           "nn/*.c", "nn/files/*.c", "nn/options/*.c",
           "models/lora/*.c", "nn/more/*.c", "nn/parallel/*.c", "models/*.c", "models/files/*.c", "models/llama/*.c",
           "models/seq2seq/*.c", "models/train/decoding.c",
           "autograd/plain/threads.c", "examples/page/wasm/*.c", "examples/page/engine/*.c",
           "examples/common/sha256.c", "examples/page/training.c", "examples/skip_connection/setup.c",
           "examples/skip_lab/rows.c", "examples/common/loss_shape.c",
           "examples/common/data_hash.c", "examples/compress/archive.c", "examples/compress/coder.c",
           "examples/compress/coding.c", "examples/compress/predictor.c", "examples/compress/table.c"]
REPLACED = ["autograd/fast/threads.c", "autograd/ops/linear_loss.c", "autograd/ops/more/plain_kernels.c",
            "autograd/ops/more/plain_table.c", "autograd/ops/table.c", "nn/files/file.c"]

INCLUDES = ["examples/page/wasm", "examples/page/engine", "examples/page", "examples", "autograd/include", "nn/include",
            "models/include", "autograd/fast", "autograd/fast/simd", "autograd/shared", "autograd/system", "autograd/ops",
            "autograd/ops/more", "autograd", "autograd/debug", "nn", "nn/files", "nn/options", "nn/more", "nn/parallel",
            "models", "models/files", "models/llama", "models/lora", "models/text", "models/lm", "models/train"]
BUILT_INCLUDES = ["autograd/include", "nn/include", "models/include", "autograd"]

# What most of the time goes into; the other sources are compiled for size. (-Oz of clang 14 breaks ag_math_pow.)
FAST = ("autograd/fast/", "examples/")

# As meson.build has them: the same bits everywhere.
FLAGS = ["--target=wasm32-wasi", "-O2", "-std=c11", "-DNDEBUG", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
         "-fwrapv", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-DKERNEL_ISA=portable",
         # 4 floats at a time; one thread; only what the page calls; the files that include signal.h
         "-msimd128", "-ftls-model=local-exec", "-ffunction-sections", "-D_WASI_EMULATED_SIGNAL",
         "-Wall", "-Wextra", "-Wshadow", "-Wno-unused-parameter"]
LINK_FLAGS = ["--target=wasm32-wasi", "-mexec-model=reactor", "-lwasi-emulated-signal", "-Wl,--gc-sections", "-Wl,--strip-all",
              # An exception of a script leaves C functions without their ends: the script sets the stack back.
              "-Wl,--export=__stack_pointer"]


def quoted(path):
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def write_ninja(build, folder):
    """Writes the rules that make the engine, engine.wasm, in the folder."""
    includes = [os.path.join(ROOT, d) for d in INCLUDES] + [os.path.join(build, d) for d in BUILT_INCLUDES]
    # Messages name a file as it is in this project, not where the project is.
    flags = FLAGS + [f'-fmacro-prefix-map="{ROOT}/"='] + [f'-I"{d}"' for d in includes]
    lines = ["rule cc", f"  command = clang {' '.join(flags)} $more -MD -MF $out.d -c $in -o $out", "  depfile = $out.d",
             "  deps = gcc", "rule link", f"  command = clang $in {' '.join(LINK_FLAGS)} -o $out"]
    objects = []
    for pattern in SOURCES:
        for source in sorted(glob.glob(os.path.join(ROOT, pattern))):
            name = os.path.relpath(source, ROOT)
            if name in REPLACED:
                continue
            objects.append(name.replace("/", "_")[:-2] + ".o")
            lines.append(f"build {objects[-1]}: cc {quoted(source)}")
            inside = not name.startswith("examples/") or name.startswith("examples/page/wasm/")
            more = ["-DKAERU_INSIDE"] * inside + ["-Os"] * (not name.startswith(FAST))
            lines.append(f"  more = {' '.join(more)}")
    lines.append(f"build engine.wasm: link {' '.join(objects)}")
    with open(os.path.join(folder, "build.ninja"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def make_engine(build):
    folder = os.path.join(build, "page")
    os.makedirs(folder, exist_ok=True)
    write_ninja(build, folder)
    ninja = shutil.which("ninja") or shutil.which("ninja-build") or sys.exit("make.py: there is no ninja")
    made = subprocess.run([ninja, "-C", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = made.stdout.decode(errors="replace")
    if made.returncode != 0:
        sys.exit(text)
    for line in text.splitlines():
        if "warning:" in line:
            print(line, file=sys.stderr)
    with open(os.path.join(folder, "engine.wasm"), "rb") as file:
        return file.read()


# ---- the page ----------------------------------------------------------------------------------------------------------

def native_hashes(build):
    """{"spiral": {"steps": 501, "hash": "..."}, ...}: what the native program prints."""
    program = os.path.join(build, "examples", "page")
    with tempfile.TemporaryDirectory() as out:
        printed = subprocess.run([program, "--out", out], stdout=subprocess.PIPE, check=True).stdout.decode()
    found = re.findall(r"^(\w+) +(\d+) steps, loss (\S+), ([0-9a-f]{64}) ", printed, re.M)
    if len(found) != 3:
        sys.exit(f"make.py: {program} printed no hashes:\n{printed}")
    return {name: {"steps": int(steps), "loss": loss, "hash": digest} for name, steps, loss, digest in found}


def native_packed(build):
    """The text sections/compress/sample.txt, compressed by the native program."""
    with tempfile.TemporaryDirectory() as out:
        packed = os.path.join(out, "sample.k")
        subprocess.run([os.path.join(build, "examples", "compress"), os.path.join(HERE, "sections", "compress", "sample.txt"),
                        packed, *PACKED], stdout=subprocess.DEVNULL, check=True)
        with open(packed, "rb") as file:
            return file.read()


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def section_html(name):
    """{{training}} stands for the controls of a training run."""
    training = read("sections/training.html").strip().replace("{{name}}", name)
    return read(f"sections/{name}/section.html").replace("{{training}}", training)


def scripts():
    """main.js, where a line "// @include NAME" is replaced by that file, and "// @sections" by the scripts of all sections."""
    files = [os.path.relpath(path, HERE) for name in SECTIONS
             for path in sorted(glob.glob(os.path.join(HERE, "sections", name, "*.js")))]
    text = read("scripts/main.js").replace("// @sections", "\n".join(map(read, files)))
    return re.sub(r"^// @include (\S+)$", lambda m: read("scripts/" + m[1]), text, flags=re.M)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, out = os.path.abspath(sys.argv[1]), sys.argv[2]
    engine = make_engine(build)
    parts = {
        "style": read("style.css"),
        "native": json.dumps(native_hashes(build)),
        "packed": base64.b64encode(native_packed(build)).decode(),
        "engine": base64.b64encode(gzip.compress(engine, 9, mtime=0)).decode(),
        "sections": "\n".join(map(section_html, SECTIONS)),
        "scripts": scripts(),
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda m: parts[m[1]], read("page.html")).encode()
    if len(page) > LARGEST:
        sys.exit(f"make.py: the page has {len(page)} bytes, more than {LARGEST}")
    os.makedirs(os.path.dirname(os.path.abspath(out)), exist_ok=True)
    with open(out + ".part", "wb") as file:
        file.write(page)
    os.replace(out + ".part", out)
    print(f"page:    {out} ({len(page) // 1000} KB)")


main()
