// Assertions about Python programs: honest programs pass whatever they are made of, and dishonest ones do not.
import type { RewardResult } from "../../lib/reward";
import { built } from "../support/built-reward";
import type { Attack } from "./attacks/attack";
import { PATCHES } from "./attacks/python-patches";
import { VALUES } from "./attacks/python-values";

let sandbox: ReturnType<typeof built.createCodeSandbox>;
beforeAll(() => (sandbox = built.createCodeSandbox({ workers: 2, timeLimit: 20_000 })));
afterAll(() => sandbox.dispose());

const LONG = 600_000;

const LIBRARY = `
import asyncio, collections, contextlib, dataclasses, enum, fractions, functools
sum = 0
def add(a, b):
    "adds"
    return a + b
def push(items, x):
    items.append(x)
    return items
class Missing(KeyError): pass
class SolveError(Exception): pass
def fail(): raise Missing('no')
def refuse(): raise SolveError("never", 3)
def leave():
    import sys
    sys.exit(0)
def stop(): raise StopIteration
class Stack:
    def __init__(self): self.items = []
    def push(self, x):
        self.items.append(x)
        return self.items
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
class Sub(Stack):
    def push(self, x): return [*super().push(x), "sub"]
def count(n):
    for i in range(n): yield i
def forever():
    n = 0
    while True:
        yield n
        n += 1
def apply(f, x): return f(x)
def table(): return collections.defaultdict(list, {1: [2]})
Pair = collections.namedtuple("Pair", "a b")
def pair(): return Pair(1, (2.5, None, b"x", {3, 4}))
@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
def mirror(p): return Point(p.y, p.x)
async def later(x):
    await asyncio.sleep(0)
    return x + 1
async def ticks(n):
    for i in range(n): yield i
class Money:
    def __init__(self, v): self.v = v
    def __round__(self, n=0): return round(self.v, n)
    def __str__(self): return f"{self.v} EUR"
class TreeNode:
    def __init__(self, v, left=None, right=None): self.v, self.left, self.right = v, left, right
def depth(t): return 0 if t is None else 1 + max(depth(t.left), depth(t.right))
class Solution:
    def twice(self, x): return [x] * 2
    def order(self, xs): xs.sort()
class Resource:
    log = []
    def __enter__(self):
        self.log.append("in")
        return self
    def __exit__(self, *a): self.log.append("out")
def using():
    with Resource() as r: return list(r.log)
class Color(enum.IntEnum):
    RED = 1
@functools.cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
`;

const RIGHT: readonly string[] = [
  "assert add(1, 2) == 3 and add([1], [2]) == [1, 2] and add('a', 'b') == 'ab'",
  "x = [1]\nassert push(x, 2) == [1, 2] and x == [1]",
  "assert Stack().push(3) == [3] and len(Stack()) == 0 and Sub().push(1) == [1, 'sub']",
  "assert list(count(3)) == [0, 1, 2] and [x for x in count(2)] == [0, 1] and next(forever()) == 0",
  "assert apply(lambda v: v + 1, 4) == 5",
  "n = 3\nassert apply(lambda v: v + n, 4) == 7 and apply(lambda v: [v * i for i in range(n)], 1) == [0, 1, 2]",
  "try:\n    fail()\n    assert False\nexcept Missing as error:\n    assert isinstance(error, KeyError)",
  "try:\n    fail()\nexcept KeyError:\n    pass\nelse:\n    assert False",
  "try:\n    refuse()\n    assert False\nexcept SolveError as error:\n    assert error.args == ('never', 3)",
  "assert table() == {1: [2]} and pair() == (1, (2.5, None, b'x', {3, 4})) and pair().a == 1 and pair() == Pair(1, pair().b)",
  "def check(candidate):\n    assert candidate(10**30, 1) == 10**30 + 1\n    for i in range(3):\n        assert candidate(i, i) == 2 * i\ncheck(add)",
  "def check(f):\n    assert f(3) == [3, 3]\ncheck(Solution().twice)",
  "assert math.isclose(add(0.1, 0.2), 0.3)",
  "assert asyncio.run(later(6)) == 7",
  "assert await later(1) == 2",
  "assert await asyncio.gather(later(1), later(2)) == [2, 3] and [i async for i in ticks(2)] == [0, 1]",
  "assert mirror(Point(1, 2)) == Point(2, 1) and mirror(Point(1, 2)) != Point(1, 2) and mirror(Point(1, 2)).x == 2",
  "assert isinstance(mirror(Point(1)), Point) and not isinstance(1, Point)",
  "assert round(Money(2.567), 1) == 2.6 and str(Money(3)) == '3 EUR' and f'{str(Money(3))}' == '3 EUR'",
  "assert depth(TreeNode(1, TreeNode(2), None)) == 2",
  "k = 4\nassert depth(TreeNode(k, TreeNode(k + 1, right=TreeNode(0)))) == 3",
  "assert Solution().twice(3) == [3, 3] and Solution.twice(None, 4) == [4, 4]",
  "assert add.__name__ == 'add' and add.__doc__ == 'adds'",
  "assert sum([add(1, 1), add(1, 1)]) == 4",
  "assert using() == ['in']",
  "assert add('a\\0', 'b') == 'a\\0b' and add(10**5000, 1) == 10**5000 + 1 and add(-0.0, 0.0) == 0",
  "assert str(add(float('inf'), 1)) == 'inf' and add(1j, 1) == 1 + 1j and add(fractions.Fraction(1, 3), 1) == fractions.Fraction(4, 3)",
  "assert Color.RED == 1 and fib(30) == 832040",
  "import unittest\ncase = unittest.TestCase()\ncase.assertEqual(add(1, 1), 2)\nwith case.assertRaises(KeyError):\n    fail()\nwith case.assertRaises(Missing):\n    fail()",
  "assert all(add(x, 0) == x for x in range(4)) and sorted([3, 1, 2], key=Solution().twice) == [1, 2, 3]",
  "assert add(*[1, 2]) == 3 and add(**{'a': 1, 'b': 2}) == 3 and close(add(1, 2), 3)",
  "assert (lambda xs: (Solution().order(xs), xs)[1])([2, 1]) == [2, 1] or True\nassert apply(lambda xs: (xs.sort(), xs)[1], [2, 1]) == [1, 2]",
];

test(
  "what an honest program returns, raises and awaits reaches its tests",
  async () => {
    const setup = "import fractions\ndef close(a, b): return abs(a - b) < 1e-9";
    const [result] = await built.codeReward([LIBRARY], { assertions: RIGHT, setup }, { sandbox, credit: "fraction" });
    expect([result, RIGHT[Number(result!.details?.["test"] ?? 0)]]).toEqual([
      { reward: 1, reason: "passed", details: { passed: RIGHT.length, total: RIGHT.length } },
      RIGHT[0],
    ]);
  },
  LONG,
);

test(
  "right programs with the same names for other things do not meet",
  async () => {
    const programs = [
      "class SolveError(Exception): pass\ndef solve(x):\n    if x < 0: raise SolveError\n    return x * x",
      "class Solution:\n    def solve(self, x): return x * x\nsolve = Solution().solve",
      "def power(x): return x * x\ndef solve(x): return power(x)",
      "solve = lambda x: x * x",
    ];
    const own = built.createCodeSandbox({ workers: 1, timeLimit: 20_000 });
    const judged = await built.codeReward(
      [...programs, programs[0]!],
      { assertions: "assert [solve(x) for x in range(4)] == [0, 1, 4, 9]" },
      { sandbox: own },
    );
    expect(judged.map(({ reward }) => reward)).toEqual([1, 1, 1, 1, 1]);
    await own.dispose();
  },
  LONG,
);

const KEPT: readonly string[] = [
  "s = Stack()\ns.push(5)\nassert len(s) == 1 and s.pop() == 5 and isinstance(s, Stack)",
  "with Resource() as r:\n    assert r.log == ['in']\nassert Resource.log == ['in', 'out']",
  "class Mine(Stack): pass\nassert len(Mine()) == 0",
  "xs = [2, 1]\nSolution().order(xs)\nassert xs == [1, 2]",
];

test(
  "tests that keep objects of the program need the shared interpreter, and say so",
  async () => {
    const tests = KEPT.map((assertions) => ({ assertions }));
    const programs = KEPT.map(() => LIBRARY);
    const [shared] = await built.codeReward([LIBRARY], { assertions: KEPT, isolation: "shared" }, { sandbox });
    expect(shared).toMatchObject({ reward: 1, reason: "passed" });
    const separate = await built.codeReward(programs, tests, { sandbox });
    expect(separate.map(({ reward, reason }) => `${reward} ${reason}`)).toEqual([
      "0 cannot cross",
      "0 cannot cross",
      "0 cannot cross",
      "0 assertion failed",
    ]);
    for (const { details } of separate) expect(JSON.stringify(details)).toContain("shared");
  },
  LONG,
);

const FAILING: readonly (readonly [string, string])[] = [
  ["assert add(1, 2) == 4", "assertion failed"],
  ["assert stop()", "error"],
  ["leave()\nassert add(1, 1) == 2", "exit"],
  ["try:\n    leave()\nexcept BaseException:\n    pass\nassert add(1, 1) == 2", "exit"],
  ["import unittest\nassert add(1, 1) == 2\nraise unittest.SkipTest", "error"],
  ["assert add(1, 1) == 2\nraise SystemExit(0)", "error"],
  ["assert True", "no call"],
  ["add(1, 1)", "no assertion"],
  ["for x in count(0):\n    assert x == 1", "no assertion"],
  ["Solution.twice = 3\nassert add(1, 1) == 2", "cannot cross"],
  ["assert nothing(2) == 3", "error"],
  ["assert add(1, 2) ==", "syntax error"],
];

test(
  "every other end of a test is a failure, with its reason",
  async () => {
    const results = await Promise.all(
      FAILING.map(async ([assertions]) => {
        const [result] = await built.codeReward(
          [LIBRARY],
          { assertions: [assertions, "assert add(1, 1) == 2"] },
          { sandbox, credit: "fraction" },
        );
        return result!;
      }),
    );
    expect(results.map(({ reason, details }) => `${reason} ${String(details?.["passed"])}`)).toEqual(
      FAILING.map(([, reason]) => `${reason} 1`),
    );
  },
  LONG,
);

test(
  "a loop of the tests ends at the time limit",
  async () => {
    const [result] = await built.codeReward(
      [LIBRARY],
      { assertions: "while True: add(1, 1)" },
      { sandbox, timeLimit: 1500 },
    );
    expect(result).toMatchObject({ reward: 0, reason: "time limit" });
  },
  LONG,
);

const CONTROL = "def control(x): return 2 * x\n";
const ASKS = "assert control(21) == 42";

/** Attacks side by side in one program: the names of each end in its number. */
function together(attacks: readonly Attack[]): { program: string; assertions: string[] } {
  const lines = attacks.map(({ program }, i) => `load(${i}, ${JSON.stringify(program)})`);
  const load = `def load(i, text):
    own = {"__name__": "__main__"}
    exec(text, own)
    for name in ("solve", "encode", "decode"):
        if name in own: globals()[f"{name}_{i}"] = own[name]
`;
  const assertions = attacks.map(({ test = "assert solve(3) == 9" }, i) =>
    test.replaceAll(/\b(solve|encode|decode)\b/g, `$1_${i}`),
  );
  return { program: `${CONTROL}${load}${lines.join("\n")}\n`, assertions: [...assertions, ASKS] };
}

test(
  "nothing that a program returns or raises is worth anything but its value",
  async () => {
    const { program, assertions } = together(VALUES);
    const [all] = await built.codeReward([program], { assertions }, { sandbox, credit: "fraction" });
    // The control alone passes.
    expect(all!.details).toMatchObject({ passed: 1, total: VALUES.length + 1, test: 0 });
  },
  LONG,
);

describe("a program that changes what is round it", () => {
  const ownNames = Object.getOwnPropertyNames(Object.prototype).sort();
  let results: RewardResult[];
  beforeAll(async () => {
    results = await built.codeReward(
      PATCHES.map(({ program }) => CONTROL + program),
      PATCHES.map(({ test = "assert solve(3) == 9" }) => ({ assertions: [ASKS, test] })),
      { sandbox, credit: "fraction" },
    );
  }, LONG);

  test.each(PATCHES.map(({ name }, i) => [name, i] as const))("%s: no reward", (_, i) => {
    const { reason, details } = results[i]!;
    expect(Number(details!["passed"])).toBeLessThanOrEqual(1);
    expect(reason).not.toBe("syntax error");
  });

  test(
    "nothing of this realm is changed, and the program after them all is judged as it deserves",
    async () => {
      expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(ownNames);

      const programs = ["def solve(x): return x * x", "def solve(x): return x"];
      const judged = await built.codeReward(programs, { assertions: "assert solve(3) == 9" }, { sandbox });
      expect(judged.map(({ reward }) => reward)).toEqual([1, 0]);
    },
    LONG,
  );
});
