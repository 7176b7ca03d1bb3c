// What a program changes round it to be paid for nothing.
import type { Attack } from "./attack";

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
