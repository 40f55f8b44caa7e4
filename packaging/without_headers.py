#!/usr/bin/env python3
"""Prints a header without its includes of some others: without_headers.py HEADER OTHER..."""
import os
import sys

left_out = [f'#include "kaeru/{os.path.basename(header)}"\n' for header in sys.argv[2:]]
with open(sys.argv[1], encoding="utf-8") as file:
    print("".join(line for line in file if line not in left_out), end="")
