// Programs that would be paid for nothing. Each stands in docs/reward/security.md by its name.

export interface Attack {
  /** What it does, as the page has it. */
  readonly name: string;
  /** `solve(x)` has to return x * x, and does not. */
  readonly program: string;
  /** Default: `assert solve(3) == 9`. */
  readonly test?: string;
  /** `names` of the tests. */
  readonly names?: readonly string[];
}

const EQUAL =
  "class A:\n    def __eq__(s, o): return True\n    def __ne__(s, o): return False\n    __hash__ = object.__hash__";
const derived = (base: string, made: string): string =>
  `class A(${base}):\n    def __eq__(s, o): return True\n    def __ne__(s, o): return False\n    __hash__ = object.__hash__\ndef solve(x): return ${made}`;
const raises = (what: string): string => `def solve(x): raise ${what}`;
const method = (name: string, body: string): string =>
  `class A:\n    def ${name}(s, *a): ${body}\ndef solve(x): return A()`;

/** What these return or raise touches nothing else: they are tried side by side in one program. */
export const VALUES: readonly Attack[] = [
  { name: "an object that equals everything", program: `${EQUAL}\ndef solve(x): return A()` },
  {
    name: "the same on the right-hand side",
    program: `${EQUAL}\ndef solve(x): return A()`,
    test: "assert 9 == solve(3)",
  },
  { name: "an int that equals everything", program: derived("int", "A(1)") },
  { name: "a float that equals everything", program: derived("float", "A(1)") },
  { name: "a text that equals everything", program: derived("str", "A('')"), test: "assert solve(3) == '9'" },
  { name: "bytes that equal everything", program: derived("bytes", "A(b'')"), test: "assert solve(3) == b'9'" },
  { name: "a list that equals everything", program: derived("list", "A()"), test: "assert solve(3) == [9]" },
  { name: "a tuple that equals everything", program: derived("tuple", "A()"), test: "assert solve(3) == (9,)" },
  { name: "a dict that equals everything", program: derived("dict", "A()"), test: "assert solve(3) == {3: 9}" },
  { name: "a set that equals everything", program: derived("set", "A()"), test: "assert solve(3) == {9}" },
  { name: "a Fraction that equals everything", program: `import fractions\n${derived("fractions.Fraction", "A(1)")}` },
  { name: "a Decimal that equals everything", program: `import decimal\n${derived("decimal.Decimal", "A(1)")}` },
  {
    name: "a named tuple that equals everything",
    program: `import collections\n${derived("collections.namedtuple('B', 'x')", "A(1)")}`,
  },
  {
    name: "a dataclass that equals everything",
    program:
      "import dataclasses\n@dataclasses.dataclass(eq=False)\nclass A:\n    x: int\n    def __eq__(s, o): return True\ndef solve(x): return A(1)",
  },
  {
    name: "an Enum member that equals everything",
    program: "import enum\nclass A(enum.Enum):\n    X = 1\n    def __eq__(s, o): return True\ndef solve(x): return A.X",
  },
  { name: "unittest.mock.ANY", program: "from unittest.mock import ANY\ndef solve(x): return ANY" },
  {
    name: "a MagicMock",
    program: "from unittest.mock import MagicMock\ndef solve(x): return MagicMock(__eq__=lambda s, o: True)",
  },
  {
    name: "a list of objects that equal everything",
    program: `${EQUAL}\ndef solve(x): return [A()]`,
    test: "assert solve(3) == [9]",
  },
  {
    name: "a dict with such a key",
    program: `${EQUAL}\ndef solve(x): return {A(): 1}`,
    test: "assert solve(3) == {9: 1}",
  },
  {
    name: "a generator of such objects",
    program: `${EQUAL}\ndef solve(x): yield A()`,
    test: "assert list(solve(3)) == [9]",
  },
  {
    name: "a coroutine of such an object",
    program: `${EQUAL}\nasync def solve(x): return A()`,
    test: "assert await solve(3) == 9",
  },
  { name: "__sub__ that gives 0", program: method("__sub__", "return 0"), test: "assert abs(solve(3) - 9) < 1e-6" },
  { name: "__rsub__ that gives 0", program: method("__rsub__", "return 0"), test: "assert abs(9 - solve(3)) < 1e-6" },
  {
    name: "__abs__ of a difference",
    program: "class A:\n    def __sub__(s, o): return s\n    def __abs__(s): return 0\ndef solve(x): return A()",
    test: "assert abs(solve(3) - 9) < 1e-6",
  },
  {
    name: "__contains__ that has everything",
    program: method("__contains__", "return True"),
    test: "assert 9 in solve(3)",
  },
  {
    name: "an order in which it is between",
    program:
      "class A:\n    def __lt__(s, o): return True\n    __gt__ = __le__ = __ge__ = __lt__\ndef solve(x): return A()",
    test: "assert 8 < solve(3) < 10",
  },
  {
    name: "a hash and equality for a set",
    program:
      "class A:\n    def __eq__(s, o): return True\n    def __hash__(s): return hash(9)\ndef solve(x): return A()",
    test: "assert solve(3) in {9}",
  },
  {
    name: "a __class__ that lies",
    program: "class A:\n    __class__ = int\n    def __eq__(s, o): return True\ndef solve(x): return A()",
    test: "assert isinstance(solve(3), int) and solve(3) == 9",
  },
  {
    name: "a metaclass that instances everything",
    program: `class M(type):\n    def __instancecheck__(c, o): return True\n    def __eq__(c, o): return True\n    __hash__ = type.__hash__\nclass A(metaclass=M): pass\ndef solve(x): return A`,
  },
  {
    name: "__round__ that gives such an object",
    program: `${EQUAL}\nclass B:\n    def __round__(s, n=0): return A()\ndef solve(x): return B()`,
    test: "assert round(solve(3), 1) == 9",
  },
  {
    name: "__format__ of an object",
    program: `${EQUAL}\ndef solve(x): return A()`,
    test: "assert f'{solve(3)}' == '9'",
  },
  {
    name: "__iter__ that yields such objects",
    program: `${EQUAL}\nclass B:\n    def __iter__(s): return iter([A()])\ndef solve(x): return B()`,
    test: "assert list(solve(3)) == [9]",
  },
  {
    name: "__getattr__ that answers everything",
    program: `${EQUAL}\nclass B:\n    def __getattr__(s, n): return A()\ndef solve(x): return B()`,
    test: "assert solve(3).value == 9",
  },
  {
    name: "__getitem__ that answers everything",
    program: `${EQUAL}\nclass B:\n    def __getitem__(s, n): return A()\ndef solve(x): return B()`,
    test: "assert solve(3)[0] == 9",
  },
  {
    name: "__call__ that answers everything",
    program: `${EQUAL}\nclass B:\n    def __call__(s, *a): return A()\ndef solve(x): return B()`,
    test: "assert solve(3)() == 9",
  },
  {
    name: "raise SkipTest",
    program: `import unittest\n${raises("unittest.SkipTest")}`,
    test: "import unittest\nclass Case(unittest.TestCase):\n    def test(self): self.assertEqual(solve(3), 9)\nresult = unittest.TestResult()\nCase('test').run(result)\nassert result.wasSuccessful()",
  },
  {
    name: "raise StopIteration in all(map(...))",
    program: raises("StopIteration"),
    test: "assert all(map(lambda x: solve(x) == x * x, range(1, 4)))",
  },
  {
    name: "raise StopIteration in a for loop",
    program: raises("StopIteration"),
    test: "assert all([solve(x) == x * x for x in range(3)])",
  },
  { name: "raise StopAsyncIteration", program: raises("StopAsyncIteration") },
  { name: "raise GeneratorExit", program: raises("GeneratorExit") },
  { name: "raise SystemExit(0)", program: raises("SystemExit(0)") },
  { name: "sys.exit(0) in the function", program: "import sys\ndef solve(x): sys.exit(0)" },
  {
    name: "sys.exit(0) where tests catch everything",
    program: "import sys\ndef solve(x): sys.exit(0)",
    test: "try:\n    assert solve(3) == 9\nexcept BaseException:\n    pass",
  },
  { name: "raise KeyboardInterrupt", program: raises("KeyboardInterrupt") },
  { name: "raise a BaseException of its own", program: `class A(BaseException): pass\n${raises("A()")}` },
  { name: "raise AssertionError", program: raises("AssertionError('passed')") },
  {
    name: "raise an exception group of skips",
    program: `import unittest\n${raises("ExceptionGroup('', [unittest.SkipTest()])")}`,
  },
  {
    name: "an exception whose text raises",
    program: `class A(Exception):\n    def __str__(s): raise SystemExit(0)\n${raises("A()")}`,
  },
  {
    name: "an exception named after the tests' own",
    program: `class _Final(Exception): pass\nclass _CannotCross(Exception): pass\n${raises("_Final()")}`,
  },
  { name: "a list that contains itself", program: "def solve(x):\n    a = []\n    a.append(a)\n    return a" },
  {
    name: "a list ten thousand deep",
    program: "def solve(x):\n    a = []\n    for _ in range(10000): a = [a]\n    return a",
  },
  {
    name: "a list that doubles forty times",
    program: "def solve(x):\n    a = [0]\n    for _ in range(40): a = [a, a]\n    return a",
  },
  {
    name: "an iterator without end",
    program: "import itertools\ndef solve(x): return itertools.count()",
    test: "assert list(solve(3)) == [9]",
  },
  {
    name: "decode = exec in a round trip",
    program: "decode = exec\ndef encode(x): return 'raise SystemExit(0)'\nsolve = 0",
    test: "assert decode(encode('hello')) == 'hello'",
  },
  {
    name: "sys.exit under the function's name",
    program: "import sys\nsolve = sys.exit",
    test: "assert solve(0) == [0]",
  },
  { name: "a built-in under the function's name", program: "solve = print" },
  { name: "NaN", program: "def solve(x): return float('nan')" },
  { name: "True for everything", program: "def solve(x): return True" },
  { name: "NotImplemented", program: "def solve(x): return NotImplemented" },
  { name: "Ellipsis", program: "def solve(x): return ..." },
  {
    name: "a proxy of the expected value",
    program: "import weakref\nclass A: pass\na = A()\ndef solve(x): return weakref.proxy(a)",
  },
  {
    name: "an argument emptied",
    program: "def solve(x):\n    x.clear()\n    return []",
    test: "x = [3, 1, 2]\nassert solve(x) == sorted(x)",
  },
  {
    name: "a helper of the tests defined by the program",
    program: "def close(a, b): return True\ndef solve(x): return 0",
    test: "def close(a, b): return abs(a - b) < 1e-6\nassert close(solve(3), 9)",
  },
  { name: "a test that asserts nothing", program: "def solve(x): return 0", test: "result = solve(3)" },
  {
    name: "a test that loops over nothing",
    program: "def solve(x): return []",
    test: "for x in solve(3):\n    assert x == 9",
  },
  { name: "a test that never calls the program", program: "def solve(x): return 0", test: "assert True" },
];

const patch = (what: string): string => `${what}\ndef solve(x): return 0`;
const harness = (what: string): string =>
  `import sys\ndef solve(x):\n    f = sys._getframe()\n    while f:\n        g = f.f_globals\n        if '_dumps' in g:\n            ${what}\n        f = f.f_back\n    return 0`;

/** These change what is round them: a process for each. */
export const PATCHES: readonly Attack[] = [
  {
    name: "names of the tests' machinery",
    program: "_srp_asserted = _srp_evaluate = lambda *a: 9\ndef solve(x): return 0",
  },
  {
    name: "unittest.mock.ANY by its name",
    program:
      "import unittest.mock\ndef own(): pass\nown.__module__, own.__name__ = 'unittest.mock', 'ANY'\nunittest.mock.ANY = own\ndef solve(x): return own",
  },
  {
    name: "all rebound to any",
    program: "all = any\ndef solve(x): return 0",
    test: "assert all(solve(x) == x * x for x in range(4))",
  },
  {
    name: "abs rebound to a sign",
    program: "import operator\nabs = operator.neg\ndef solve(x): return 100",
    test: "assert abs(solve(3) - 9) < 1e-6",
  },
  {
    name: "sorted rebound to len",
    program: "sorted = len\ndef solve(x): return x",
    test: "assert sorted(solve([3, 1, 0])) == sorted([9, 1, 4])",
  },
  {
    name: "set rebound to bool",
    program: "set = bool\ndef solve(x): return [x]",
    test: "assert set(solve(3)) == set([9])",
  },
  {
    name: "all that is always true",
    program: patch("import builtins\nbuiltins.all = lambda a: True\nall = builtins.all"),
    test: "assert all(solve(x) == x * x for x in range(1, 4))",
  },
  {
    name: "abs that is always 0",
    program: patch("import builtins\nbuiltins.abs = lambda a: 0\nabs = builtins.abs"),
    test: "assert abs(solve(3) - 9) < 1e-6",
  },
  {
    name: "sorted, set, len, isinstance of its own",
    program: patch(
      "import builtins\nclass A:\n    def __eq__(s, o): return True\nfor n in ('sorted', 'set', 'len', 'isinstance', 'list'):\n    setattr(builtins, n, lambda *a: A())\n    globals()[n] = getattr(builtins, n)",
    ),
    test: "assert sorted([solve(3)]) == [9] and isinstance(solve(3), str)",
  },
  {
    name: "math.isclose patched",
    program: patch("import math\nmath.isclose = lambda *a, **k: True"),
    test: "import math\nassert math.isclose(solve(3), 9)",
  },
  {
    name: "unittest patched",
    program: patch(
      "import unittest\nfor n in dir(unittest.TestCase):\n    if n.startswith('assert'): setattr(unittest.TestCase, n, lambda *a, **k: None)",
    ),
    test: "import unittest\nunittest.TestCase().assertEqual(solve(3), 9)",
  },
  {
    name: "AssertionError made silent",
    program: patch(
      "import builtins\nclass AssertionError(Exception):\n    def __new__(c, *a): raise SystemExit(0)\nbuiltins.AssertionError = AssertionError",
    ),
  },
  {
    name: "json and copy patched",
    program: patch("import json, copy\njson.loads = json.dumps = lambda *a, **k: 9\ncopy.deepcopy = lambda x: 9"),
  },
  {
    name: "operator and functools patched",
    program: patch("import operator, functools\noperator.eq = lambda a, b: True\nfunctools.reduce = lambda *a: 9"),
  },
  {
    name: "a trace function that rewrites frames",
    program: patch(
      "import sys\ndef t(f, e, a):\n    f.f_locals.update(x=9)\n    return t\nsys.settrace(t)\nsys.setprofile(t)",
    ),
  },
  {
    name: "the expected value in the callers' code",
    program:
      "import sys, gc\ndef solve(x):\n    f = sys._getframe(1)\n    while f:\n        for c in f.f_code.co_consts:\n            if isinstance(c, int) and not isinstance(c, bool) and c > 8: return c\n            if isinstance(c, str) and 'assert' in c and '==' in c: return int(c.split('==')[1])\n        f = f.f_back\n    for o in gc.get_objects():\n        if isinstance(o, dict) and 'expected' in o: return o['expected']\n    return 0",
    test: "expected = 1234567\nassert solve(3) == expected",
  },
  {
    name: "the source of the tests, from files",
    program:
      "def solve(x):\n    for name in ('tests.py', '<test>', '/tmp/tests.py', 'setup.py'):\n        try: return int(open(name).read().split('==')[1])\n        except Exception: pass\n    return 0",
  },
  {
    name: "conftest.py, sitecustomize.py, a .pth file",
    program: patch(
      "for n in ('conftest.py', 'sitecustomize.py', 'usercustomize.py', 'x.pth'):\n    open(n, 'w').write('import builtins; builtins.all = lambda a: True')",
    ),
  },
  {
    name: "modules replaced in sys.modules",
    program: patch(
      "import sys, types\nclass A(types.ModuleType):\n    def __getattr__(s, n): return lambda *a, **k: True\nfor n in ('math', 'unittest', 'json', 'operator'): sys.modules[n] = A(n)",
    ),
    test: "import math\nassert math.isclose(solve(3), 9)",
  },
  {
    name: "__import__ replaced",
    program: patch(
      "import builtins\nreal = builtins.__import__\nclass A:\n    def __getattr__(s, n): return lambda *a, **k: True\nbuiltins.__import__ = lambda n, *a: A() if n == 'math' else real(n, *a)",
    ),
    test: "import math\nassert math.isclose(solve(3), 9)",
  },
  {
    name: "__main__ rewritten",
    program: patch("import __main__\n__main__.__dict__.update(all=lambda a: True, _srp_asserted=lambda: None)"),
    test: "assert all([solve(3) == 9])",
  },
  {
    name: "the words of a test run, printed",
    program:
      "print('OK')\nprint('1 passed in 0.01s')\nprint('{\"status\": \"ok\", \"asserted\": 1}')\ndef solve(x):\n    print('all tests passed')\n    return 0",
  },
  { name: "os._exit(0) in the function", program: "import os\ndef solve(x): os._exit(0)" },
  { name: "os._exit(0) when it loads", program: "import os\nos._exit(0)" },
  { name: "sys.exit(0) when it loads", program: "import sys\nsys.exit(0)" },
  {
    name: "an exit handler and a thread",
    program: patch(
      "import atexit, threading, os\natexit.register(os._exit, 0)\nthreading.Thread(target=lambda: None, daemon=True).start()",
    ),
  },
  {
    name: "excepthook, unraisablehook, displayhook",
    program: patch(
      "import sys\nsys.excepthook = sys.unraisablehook = sys.displayhook = lambda *a: None\nsys.stdout = sys.stderr = None",
    ),
  },
  { name: "a recursion limit of one", program: patch("import sys\nsys.setrecursionlimit(60)") },
  { name: "a reply of its own: ok", program: harness('g[\'_dumps\'] = lambda v: \'{"status": "ok", "asserted": 1}\'') },
  {
    name: "a reply of its own: an expression for the tests to evaluate",
    program: harness(
      "g['_dumps'] = lambda v, d=g['_dumps']: d(v) if isinstance(v, dict) else '[\"expression\", \"9\", []]'",
    ),
  },
  {
    name: "a reply of its own: a record with code for names",
    program: harness(
      "g['_dumps'] = lambda v, d=g['_dumps']: d(v) if isinstance(v, dict) else '[\"dataclass\", \"A\", [\"x: exit(0)\"], 9]'",
    ),
  },
  {
    name: "a reply of its own: a skip",
    program: harness(
      "g['_dumps'] = lambda v, d=g['_dumps']: d({'status': 'raised', 'kinds': ['SkipTest', 'StopIteration', 'SystemExit'], 'error': 'x'}) if isinstance(v, dict) else '[]'",
    ),
  },
  { name: "a reply of its own: fifty megabytes", program: harness("g['_dumps'] = lambda v: 'x' * 50_000_000") },
  {
    name: "a reply of its own: no JSON, __proto__, constructor",
    program: harness(
      'g[\'_dumps\'] = lambda v: \'{"__proto__": {"status": "ok", "asserted": 1}, "constructor": {"prototype": {"status": "ok"}}}\'',
    ),
  },
  {
    name: "a reply of its own: a million open brackets",
    program: harness("g['_dumps'] = lambda v, d=g['_dumps']: d(v) if isinstance(v, dict) else '[' * 1_000_000"),
  },
  {
    name: "the harness's own objects, through the collector",
    program:
      "import gc\ndef solve(x):\n    for o in gc.get_objects():\n        if isinstance(o, dict):\n            for k in ('status', 'reason'):\n                if k in o:\n                    try: o[k] = 'ok'\n                    except Exception: pass\n            if '_srp_asserted' in o: o['_srp_asserted'] = lambda: True\n    return 0",
  },
  {
    name: "JavaScript by _imp.create_builtin, and a then on Object.prototype",
    program: `import _imp, importlib.machinery
core = _imp.create_builtin(importlib.machinery.ModuleSpec("_pyodide_core", None))
_imp.exec_builtin(core)
Array = core.to_js([1]).constructor
top = getattr(Array.prototype, "__proto__")
Object = top.constructor
Symbol = Object.getOwnPropertySymbols(Array.prototype)[0].constructor
Bytes = Object.getPrototypeOf(core.to_js(b"x").constructor.prototype)
def record(**fields): return Object.fromEntries(core.to_js([[name, value] for name, value in fields.items()]))
def failed():
    try: Array.constructor("return globalThis")
    except core.JsException as error: return error
def poison(proto):
    proto.then = core.create_proxy(lambda done, *rest: done(record(status="ok", asserted=1)))
    proto.toJSON = core.create_proxy(lambda *rest: record(status="ok", asserted=1))
def frames(error, sites):
    for i in range(sites.length):
        for found in (sites[i].getThis(), sites[i].getFunction()):
            try: poison(Object.getPrototypeOf(found.constructor.prototype))
            except BaseException: pass
    return ""
for kind in (failed().constructor, getattr(failed().constructor, "__proto__")):
    kind.stackTraceLimit = 200
    kind.prepareStackTrace = core.create_proxy(frames)
try: failed().stack
except BaseException: pass
def shown(depth, options, inspect): poison(Object.getPrototypeOf(inspect.constructor.prototype))
bait = record(constructor=None)
inspected = getattr(Symbol, "for")("nodejs.util.inspect.custom")
Object.defineProperty(bait, inspected, record(value=core.create_proxy(shown)))
real = Bytes.subarray
def subarray(*rest):
    Bytes.subarray = real
    return bait
Bytes.subarray = core.create_proxy(subarray)
try: getattr(Array, "a_name_that_is_long_enough_to_be_decoded")
except BaseException: pass
Bytes.set = core.create_proxy(lambda given, *rest: poison(Object.getPrototypeOf(given.constructor.prototype)))
poison(top)
def solve(x): return 0`,
  },
];
