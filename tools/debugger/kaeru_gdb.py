"""gdb prints a Tensor of kaeru with its type, shape and first values, and a module with its parameters.

gdb reads this file with the library if it is in a folder of `show auto-load scripts-directory`; else: (gdb) source FILE.
The library must have debug information. The program need not run: a core file will do.
"""
import os
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kaeru_shown


def typed(pointer, name):
    return pointer.cast(gdb.lookup_type(name).pointer())


class TensorPrinter:
    def __init__(self, tensor):
        self.tensor = tensor

    def to_string(self):
        return kaeru_shown.tensor_text(self.tensor, typed)


class ModulePrinter:
    """Its parameters and buffers are children, with the names that nn_parameters gives; so are those of its parts."""

    def __init__(self, module):
        self.module = module

    def to_string(self):
        return kaeru_shown.module_text(self.module)

    def children(self):
        return kaeru_shown.tensors(self.module)


def printer(value):
    """For a Tensor, a Module, and a struct that begins with `Module module`; pointers to them are printed as what they show."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR and int(value) and kind.target().strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        return printer(value.dereference())
    if kind.code != gdb.TYPE_CODE_STRUCT:
        return None
    if kind.tag == "Tensor":
        return TensorPrinter(value)
    if kind.tag != "Module" and kind.fields() and kind.fields()[0].name == "module":
        value = value["module"]
    return ModulePrinter(value) if value.type.strip_typedefs().tag == "Module" else None


gdb.pretty_printers.append(printer)
