"""The C ABI of a backend library: argument structs as ctypes classes, enumerators as numbers.

Both are read from contracts.json, which is generated from the headers. A test holds sizes and offsets against what a C compiler says.
"""

import ctypes
import json
import os

KINDS = {
    "uint8_t": ctypes.c_uint8,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "double": ctypes.c_double,
    "char": ctypes.c_char,
    "pointer": ctypes.c_void_p,
    "function": ctypes.c_void_p,
}


class Contracts:
    """`structs` by name without srp_ and _args; `constants` by enumerator; `ops`: names in the order of the backend table; `abi`: what the library was built with."""

    def __init__(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "contracts.json"), encoding="utf-8") as file:
            contracts = json.load(file)
        self.abi, self.ops, self.constants = contracts["abi"], contracts["ops"], contracts["constants"]
        self.structs = {}
        for name, fields in contracts["structs"].items():
            self.structs[name] = type(name, (ctypes.Structure,), {"_fields_": [self._field(*field) for field in fields]})

    def _field(self, name, kind, count=None):
        known = KINDS.get(kind) or self.structs[kind]  # a nested struct stands before what it is in
        return name, known * count if count else known


class Refused(Exception):
    """A call that did not answer SRP_OK, with the library's own text."""

    def __init__(self, op, status, text):
        super().__init__("%s: status %d, %s" % (op, status, text))
        self.status = status


class Library:
    """A backend library, opened on one device with one queue."""

    def __init__(self, path, device=0):
        self.contracts = Contracts()
        self._library = ctypes.CDLL(path)
        entry = self._library.srp_backend_get
        entry.restype, entry.argtypes = ctypes.c_void_p, [ctypes.c_uint32]
        place = entry(self.contracts.abi)
        if not place:
            raise OSError("%s was built from other headers than contracts.json" % path)
        table = self.contracts.structs["backend"]
        self._functions = {name: ctypes.c_void_p.from_address(place + getattr(table, name).offset).value for name, _ in table._fields_}
        self.name = ctypes.c_char_p(self._functions["name"]).value.decode()
        self.description = self._describe(device)
        self.queue = ctypes.c_void_p()
        if self.description.available:
            self._call("queue_create", [ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)], device, ctypes.byref(self.queue))

    def _function(self, name, result, kinds):
        return ctypes.CFUNCTYPE(result, *kinds)(self._functions[name])

    def _call(self, name, kinds, *values):
        status = self._function(name, ctypes.c_int, kinds)(*values)
        if status != 0:
            raise Refused(name, status, self._function("last_error", ctypes.c_char_p, [])().decode())

    def _describe(self, device):
        out = self.contracts.structs["description"]()
        out.size = ctypes.sizeof(out)
        self._call("describe", [ctypes.c_int32, ctypes.c_void_p], device, ctypes.addressof(out))
        return out

    def prepare(self, op, **values):
        """A call of `op` as a function without arguments. Pointers are numbers (tensor.data_ptr()) or None, structs dicts."""
        args = self.contracts.structs[op]()
        args.size = ctypes.sizeof(args)
        self._fill("srp_%s_args" % op, args, values)
        function = self._function(op, ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p])
        queue, place = self.queue, ctypes.addressof(args)

        def run(keep=args):
            status = function(queue, place)
            if status != 0:
                raise Refused(op, status, self._function("last_error", ctypes.c_char_p, [])().decode())

        return run

    def _fill(self, title, struct, values):
        known = {name for name, _ in struct._fields_}
        for name, value in values.items():
            if name not in known:
                raise TypeError("%s has no field %s" % (title, name))
            if isinstance(value, dict):
                self._fill("%s.%s" % (title, name), getattr(struct, name), value)
            else:
                setattr(struct, name, self.contracts.constants[value] if isinstance(value, str) else value)

    def alloc(self, count):
        """`count` bytes of the library's own memory, as a number; given back with the process. Anybody may write there."""
        pointer = ctypes.c_void_p()
        self._call("alloc", [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)], self.queue, count, ctypes.byref(pointer))
        self.sync()  # memory comes in the queue's order, and who writes there from outside does not keep it
        return pointer.value

    def sync(self):
        self._call("sync", [ctypes.c_void_p], self.queue)

    def close(self):
        if self.queue:
            self._function("queue_destroy", None, [ctypes.c_void_p])(self.queue)
            self.queue = ctypes.c_void_p()
