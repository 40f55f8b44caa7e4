"""lldb prints a Tensor of kaeru with its type, shape and first values, and a Module with its parameters.

(lldb) command script import FILE; a line of ~/.lldbinit does it always. The library must have debug information.
"""
import lldb
import kaeru_shown


class Value:
    """A value of the program, read as kaeru_shown does."""

    def __init__(self, value):
        self.value = value.GetNonSyntheticValue()

    def __getitem__(self, key):
        if isinstance(key, str):
            return Value(self.value.GetChildMemberWithName(key))
        if not self.value.TypeIsPointerType():
            return Value(self.value.GetChildAtIndex(key))
        # The type by its name: some source files declare a struct without members. And lldb 14 can give a wrong copy of the
        # type Module to the value of an expression.
        kind = self.value.type.GetPointeeType()
        kind = next((x for x in self.value.target.FindTypes(kind.name) if x.fields), kind)
        return Value(self.value.CreateValueFromAddress("item", int(self) + key * kind.size, kind))

    def __int__(self):
        return self.value.GetValueAsSigned()

    def __float__(self):
        return (self.value.data.float if self.value.size == 4 else self.value.data.double)[0]

    def string(self):
        text, target = bytes(self.value.data.uint8), self.value.target
        if self.value.TypeIsPointerType():          # the target also reads constants, which a core file has not
            text = target.ReadMemory(lldb.SBAddress(int(self), target), 256, lldb.SBError())
        return text.split(b"\0")[0].decode(errors="replace")


def typed(pointer, name):
    return Value(pointer.value.Cast(pointer.value.target.FindFirstType(name).GetPointerType()))


def struct_of(value):
    """The struct that is here or is pointed to, None for NULL."""
    pointer = Value(value if value.TypeIsPointerType() else value.GetNonSyntheticValue().AddressOf())
    return pointer[0] if int(pointer) else None


def tensor_summary(value, _):
    tensor = struct_of(value)
    return kaeru_shown.tensor_text(tensor, typed) if tensor else ""


def module_summary(value, _):
    module = struct_of(value)
    return kaeru_shown.module_text(module) if module else ""


class Parameters:
    """The children that lldb shows of a module."""

    def __init__(self, value, _):
        self.value = value

    def update(self):
        module = struct_of(self.value)
        self.tensors = [x.value.CreateValueFromAddress(name, x.value.GetLoadAddress(), x.value.type)
                        for name, x in (kaeru_shown.tensors(module) if module else [])]

    def num_children(self):
        return len(self.tensors)

    def get_child_at_index(self, index):
        return self.tensors[index]


def __lldb_init_module(debugger, _):
    for command in ("summary add -F {}.tensor_summary Tensor", "summary add -e -F {}.module_summary Module",
                    "synthetic add -l {}.Parameters Module"):
        debugger.HandleCommand("type " + command.format(__name__))
