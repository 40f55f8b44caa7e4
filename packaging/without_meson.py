#!/usr/bin/env python3
"""Writes kaeru.c and kaeru.h in FOLDER without meson: without_meson.py FOLDER COMPILER...

Reads the lists of sources and the version from the files meson.build. Writes the headers that a build makes in FOLDER, too.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def lists(folder):
    """{name: paths} of the lists of files in the folder's meson.build."""
    found = re.findall(r"^(\w+) = files\(([^)]*)\)", read(folder, "meson.build"), re.M)
    return {name: [os.path.join(folder, file) for file in re.findall("'([^']*)'", files)] for name, files in found}


def run(*words):
    subprocess.run([sys.executable, *words], cwd=ROOT, check=True)


def main(folder, *compiler):
    folder = os.path.abspath(folder)
    sources = {}
    for part in ["autograd/fast", "autograd", "nn", "models"]:
        sources.update(lists(part))

    # The headers that the build makes.
    os.makedirs(os.path.join(folder, "autograd/include/kaeru"), exist_ok=True)
    version = re.search(r"version: '([\d.]+)'", read("meson.build"))[1]
    text = read("autograd/include/kaeru/version.h.in")
    for name, value in zip(["VERSION", "MAJOR", "MINOR", "PATCH"], [version, *version.split(".")]):
        text = text.replace(f"@{name}@", value)
    with open(os.path.join(folder, "autograd/include/kaeru/version.h"), "w", encoding="utf-8") as file:
        file.write(text)

    # As packaging/meson.build does.
    text = read("packaging/meson.build")
    folders = re.findall("'([^']*)'", re.search(r"foreach folder : \[([^]]*)\]", text)[1])
    rest, cold = ([file for name in re.findall(r"\w+", re.search(rf"one_file_{group} = \[([^]]*)\]", text)[1])
                   for file in sources[name]] for group in ("rest", "cold"))
    made = [os.path.join(folder, name) for name in ["kaeru.c", "kaeru.h", "kaeru.c.d"]]
    run("packaging/one_file.py", *made, "--cc", *compiler,
        "--folders", *(os.path.join(where, name) for name in folders for where in (ROOT, folder)),
        "--common", *sources["kernel_sources"], *sources["more_kernel_sources"], *sources["thread_sources"],
        *sources["dispatch_sources"],
        "--each", *sources["kernel_isa_sources"],
        "--bf16", "autograd/fast/gemm_bf16.c", "--rest", *rest, "--cold", *cold)


main(*sys.argv[1:])
