#!/usr/bin/env python3
"""Each public function has one name: test_definitions.py ROOT

Each symbol that the shared libraries export is defined in one place of the .c files, by its name, where a search finds it:
`grep -rnE '^[A-Za-z].*\\bNAME\\('`, or for data `NAME =`. No other line begins like that.
"""
import os
import re
import sys

FOLDERS = ["autograd", "nn", "models"]
LISTS = ["libkaeru3.symbols"]


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def sources(root):
    for folder in FOLDERS:
        for where, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith(".c"):
                    yield os.path.relpath(os.path.join(where, name), root)


def main(root):
    places = {}
    for path in sources(root):
        for number, line in enumerate(read(root, path).splitlines(), 1):
            if re.match("[A-Za-z]", line):
                for name in set(re.findall(r"\b(\w+)(?:\(| = )", line)):
                    places.setdefault(name, []).append(f"{path}:{number}")
    exported = [name for symbols in LISTS for name in re.findall(r"^ (\w+)@", read(root, "debian", symbols), re.M)]
    failed = 0
    for name in exported:
        found = places.get(name, [])
        if len(found) != 1:
            print(f"{name}: expected one definition, found {', '.join(found) or 'none'}")
            failed += 1
    print(f"definitions: {len(exported) - failed} passed, {failed} failed")
    return 1 if failed or not exported else 0


sys.exit(main(*sys.argv[1:]))
