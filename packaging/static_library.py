#!/usr/bin/env python3
"""Makes a static library that exports only public functions.

    static_library.py OUT.a ARCHIVE... -- COMPILER...

The linker joins all objects of the archives into one. There, a function with hidden visibility becomes local, so that a program
may have a function of the same name. The compiler tells which of the system's tools belong to it.
"""
import os
import subprocess
import sys


def main(out, *words):
    archives, compiler = words[:words.index("--")], words[words.index("--") + 1:]

    def tool(name):
        found = subprocess.run([*compiler, "-print-prog-name=" + name], capture_output=True, text=True, check=False)
        return found.stdout.strip() or name

    joined = os.path.splitext(out)[0] + ".o"
    if os.path.exists(out):
        os.remove(out)
    for command in ([*compiler, "-r", "-nostdlib", "-o", joined, "-Wl,--whole-archive", *archives],
                    [tool("objcopy"), "--localize-hidden", joined],
                    [tool("ar"), "rcs", out, joined]):
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit("failed: " + " ".join(command))
    os.remove(joined)


main(*sys.argv[1:])
