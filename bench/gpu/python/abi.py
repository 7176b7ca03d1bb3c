"""The C ABI of a backend library, read from its own headers: argument structs as ctypes classes, enumerators as numbers.

Nothing is written down twice: a field that a header gains is here at the next start. A test holds sizes and offsets against
what a C compiler says.
"""

import ctypes
import os
import re

SCALARS = {
    "int8_t": ctypes.c_int8,
    "uint8_t": ctypes.c_uint8,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "char": ctypes.c_char,
}


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def fields_of(body):
    """`const float *a, *b; int64_t n;` → [(name, ctype)], in order."""
    for declaration in filter(None, (part.strip() for part in body.split(";"))):
        base, names = re.match(r"(?:const\s+)?(?:struct\s+)?(\w+)\s*(.*)$", declaration, re.S).groups()
        for name in names.split(","):
            stars, plain, count = re.match(r"\s*((?:\*|const|\s)*)(\w+)\s*(?:\[(\w+)\])?\s*$", name).groups()
            if "*" in stars:
                kind = ctypes.c_void_p
            elif base in SCALARS:
                kind = SCALARS[base]
            else:
                raise ValueError("no type %s (of %s)" % (base, plain))
            yield plain, kind * int(count) if count else kind


class Headers:
    """`structs` by name without srp_ and _args; `constants` by enumerator; `table`: the functions of srp_backend in order."""

    def __init__(self, folder):
        self.structs, self.constants = {}, {}
        text = {}
        for name in sorted(os.listdir(folder)):
            if name.endswith(".h"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text[name] = without_comments(file.read())
        for source in text.values():
            self._read_enums(source)
        for source in text.values():
            self._read_structs(source)
        backend = re.search(r"typedef struct \{([^{}]*)\}\s*srp_backend;", text["backend.h"]).group(1)
        self.table = re.findall(r"\(\*(\w+)\)\s*\(", backend)
        with open(os.path.join(folder, "backend.h"), encoding="utf-8") as file:
            self.version = int(re.search(r"#define SRP_ABI_VERSION (\d+)", file.read()).group(1))

    def _read_enums(self, source):
        for body in re.findall(r"typedef enum\s*\w*\s*\{([^{}]*)\}", source):
            value = -1
            for item in filter(None, (part.strip() for part in body.split(","))):
                name, _, given = (part.strip() for part in item.partition("="))
                value = int(given, 0) if given else value + 1
                self.constants[name] = value

    def _read_structs(self, source):
        for body, name in re.findall(r"typedef struct\s*\w*\s*\{([^{}]*)\}\s*srp_(\w+);", source):
            if "(*" in body:
                continue
            fields = list(fields_of(body))
            self.structs[re.sub("_args$", "", name)] = type(name, (ctypes.Structure,), {"_fields_": fields})
        for known, name in re.findall(r"typedef srp_(\w+)_args srp_(\w+)_args;", source):
            self.structs[name] = self.structs[known]


class Refused(Exception):
    """A call that did not answer SRP_OK, with the library's own text."""

    def __init__(self, op, status, text):
        super().__init__("%s: status %d, %s" % (op, status, text))
        self.status = status


class Library:
    """A backend library, opened on one device with one queue."""

    def __init__(self, path, headers, device=0):
        self.headers = headers
        self._library = ctypes.CDLL(path)
        entry = self._library.srp_backend_get
        entry.restype, entry.argtypes = ctypes.c_void_p, [ctypes.c_uint32]
        table = entry(headers.version)
        if not table:
            raise OSError("%s has another ABI version than %d" % (path, headers.version))
        self.size = ctypes.c_uint32.from_address(table).value
        self.name = ctypes.c_char_p.from_address(table + 8).value.decode()
        self._functions = {}
        first = 8 + ctypes.sizeof(ctypes.c_void_p)
        for i, name in enumerate(headers.table):
            place = first + i * ctypes.sizeof(ctypes.c_void_p)
            if place < self.size:
                self._functions[name] = ctypes.c_void_p.from_address(table + place).value
        self.description = self._describe(device)
        self.queue = ctypes.c_void_p()
        if self.description.available:
            self._call("queue_create", [ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)], device, ctypes.byref(self.queue))

    def _function(self, name, result, kinds):
        if name not in self._functions:
            raise Refused(name, -1, "the library's table ends before it")
        return ctypes.CFUNCTYPE(result, *kinds)(self._functions[name])

    def _call(self, name, kinds, *values):
        status = self._function(name, ctypes.c_int, kinds)(*values)
        if status != 0:
            raise Refused(name, status, self._function("last_error", ctypes.c_char_p, [])().decode())

    def _describe(self, device):
        out = self.headers.structs["description"]()
        out.size = ctypes.sizeof(out)
        self._call("describe", [ctypes.c_int32, ctypes.c_void_p], device, ctypes.addressof(out))
        return out

    def ops(self):
        return [name for name in self.headers.table if name in self.headers.structs and name in self._functions]

    def prepare(self, op, **values):
        """A call of `op` as a function without arguments. Pointers are numbers (tensor.data_ptr()) or None."""
        args = self.headers.structs[op]()
        args.size = ctypes.sizeof(args)
        known = {name for name, _ in args._fields_}
        for name, value in values.items():
            if name not in known:
                raise TypeError("srp_%s_args has no field %s" % (op, name))
            setattr(args, name, self.headers.constants[value] if isinstance(value, str) else value)
        function = self._function(op, ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p])
        queue, place = self.queue, ctypes.addressof(args)

        def run(keep=args):
            status = function(queue, place)
            if status != 0:
                raise Refused(op, status, self._function("last_error", ctypes.c_char_p, [])().decode())

        return run

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
