"""What a debugger shows of a Tensor and of a Module of kaeru. kaeru_gdb.py and kaeru_lldb.py read the program.

A value of the program is an object as gdb.Value: x["member"] of a struct, x[i] of an array or a pointer, int(x), float(x) and
x.string(). typed(pointer, name) is that pointer as one to the type of that name.
"""
ALIVE = 0x6b616572                                  # TENSOR_ALIVE
MODULE_ALIVE = 0x6d6f6475
MOST = 6                                            # values that are shown
TYPES = ["real", "int", "bool", "bfloat16"]         # AgDType
C_TYPES = ["ag_real", "int", "unsigned char"]       # of their values; bfloat16 is packed


def shape_text(shape):
    sizes = [int(shape["dim"][i]) for i in range(int(shape["ndim"]))]
    return "(" + ", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else "") + ")"


def values_text(tensor, typed):
    n, dtype = int(tensor["numel"]), int(tensor["dtype"])
    if not int(tensor["data"]):
        return "released" if n else "[]"
    if dtype == len(C_TYPES):
        return "packed"
    values = typed(tensor["data"], C_TYPES[dtype])
    first = [str(int(values[i])) if dtype else "%.4g" % float(values[i]) for i in range(min(n, MOST))]
    return "[" + ", ".join(first + ["..."] * (n > MOST)) + "]"


def tensor_text(tensor, typed):
    if int(tensor["magic"]) != ALIVE:
        return "Tensor that was freed"
    name = tensor["origin"]["name"]
    name = name.string() + " " if int(name) else ""
    grad = ", requires_grad" if int(tensor["requires_grad"]) else ""
    return "Tensor %s%s %s %s%s" % (name, shape_text(tensor["shape"]), TYPES[int(tensor["dtype"])], values_text(tensor, typed),
                                    grad)


def module_text(module):
    return module["type"].string() if int(module["magic"]) == MODULE_ALIVE else "Module that was freed"


def tensors(module, prefix=""):
    """The parameters and buffers of a module and its parts, as (name that nn_parameters gives, tensor)."""
    for i in range(int(module["n_slots"]) if int(module["magic"]) == MODULE_ALIVE else 0):
        slot = module["slots"][i]
        name = prefix + slot["name"].string()
        if int(slot["child"]):
            yield from tensors(slot["child"][0], name + ".")
        else:
            yield name, slot["tensor"][0]
