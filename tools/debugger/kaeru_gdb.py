"""gdb prints a Tensor of kaeru with its type, shape and first values, and a module with its parameters.

gdb reads this file with the library if it is in a folder of `show auto-load scripts-directory`; else: (gdb) source FILE.
The library must have debug information. The program need not run: a core file will do.
"""
import gdb

MOST = 6                                            # values and children that are shown
TYPES = ["real", "int", "bool", "bfloat16"]         # AgDType


def shape_text(shape):
    sizes = [int(shape["dim"][i]) for i in range(int(shape["ndim"]))]
    return "(" + ", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else "") + ")"


def values_text(tensor):
    kinds = [gdb.lookup_type("ag_real"), gdb.lookup_type("int"), gdb.lookup_type("unsigned char")]
    n = int(tensor["numel"])
    if not int(tensor["data"]):
        return "released" if n else "[]"
    if int(tensor["dtype"]) == len(kinds):
        return "packed"
    values = tensor["data"].cast(kinds[int(tensor["dtype"])].pointer())
    if int(tensor["dtype"]) == 0:
        first = ["%.4g" % float(values[i]) for i in range(min(n, MOST))]
    else:
        first = [str(int(values[i])) for i in range(min(n, MOST))]
    return "[" + ", ".join(first + ["..."] * (n > MOST)) + "]"


class TensorPrinter:
    def __init__(self, tensor):
        self.tensor = tensor

    def to_string(self):
        t = self.tensor
        if int(t["magic"]) != int(gdb.parse_and_eval("TENSOR_ALIVE")):
            return "Tensor that was freed"
        name = t["name"].string() + " " if int(t["name"]) else ""
        grad = ", requires_grad" if t["requires_grad"] else ""
        return "Tensor %s%s %s %s%s" % (name, shape_text(t["shape"]), TYPES[int(t["dtype"])], values_text(t), grad)


class ModulePrinter:
    """Its parameters and buffers are children, with the names that nn_parameters gives; so are those of its parts."""

    def __init__(self, module):
        self.module = module

    def to_string(self):
        return self.module["type"].string()

    def children(self):
        return self.tensors(self.module, "")

    def tensors(self, module, prefix):
        for i in range(int(module["n_slots"])):
            slot = module["slots"][i]
            name = prefix + slot["name"].string()
            if int(slot["child"]):
                yield from self.tensors(slot["child"].dereference(), name + ".")
            else:
                yield name, slot["tensor"].dereference()


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
