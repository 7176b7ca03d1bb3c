// What a program returns or raises to be paid for nothing.
import type { Attack } from "./attack";

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
