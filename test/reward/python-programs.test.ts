// Python programs with inputs and outputs. Those that try what a program may not: each is a reward of 0 with its reason, the host is
// untouched, and the program after it runs as if nothing had been.
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RewardResult } from "../../lib/reward";
import { built } from "../support/built-reward";

const folder = mkdtempSync(join(tmpdir(), "surprisal-escape-"));
const secret = join(folder, "secret.txt");
const LATE = "time limit";

/** What it tries → the program, and the reasons that are right. Each would print "pwned" if it succeeded. */
const ATTEMPTS: readonly (readonly [string, string, readonly string[]])[] = [
  ["a loop without end", "while True: pass", [LATE]],
  ["a loop that catches everything", "while True:\n  try:\n    while True: pass\n  except BaseException: pass", [LATE]],
  ["one huge allocation", "x = 'a' * 10**9\nprint('pwned')", ["memory limit"]],
  ["memory without end", "a = []\nwhile True: a.append(bytearray(2**24))", ["memory limit", LATE]],
  [
    "a file without end",
    "f = open('/tmp/f', 'wb')\nfor _ in range(100): f.write(bytes(2**20))\nprint('pwned')",
    ["memory limit", LATE],
  ],
  ["a gigabyte of prints", "s = 'x' * 10**5\nfor _ in range(10**4): print(s)", ["output limit", LATE]],
  ["an integer of a billion digits", "x = 10 ** 10 ** 9", [LATE, "memory limit"]],
  [
    "recursion without end",
    "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()",
    ["error", "crash", "memory limit", LATE],
  ],
  ["os.fork", "import os\nos.fork()\nprint('pwned')", ["error"]],
  ["os.system", "import os\nif os.system('true') == 0: print('pwned')", ["error", "wrong output"]],
  ["subprocess", "import subprocess\nsubprocess.run(['ls'])\nprint('pwned')", ["error"]],
  ["os.execv", "import os\nos.execv('/bin/ls', ['ls'])\nprint('pwned')", ["error", "crash"]],
  ["sys.exit with a failure", "import sys\nsys.exit(3)", ["exit"]],
  ["os._exit", "print('pwned')\nimport os\nos._exit(0)", ["crash", "exit"]],
  ["os.abort", "import os\nos.abort()", ["crash"]],
  ["os.kill of its parent", "import os\nos.kill(os.getppid(), 9)\nprint('pwned')", ["error", "crash"]],
  ["a file of the host", `print(open(${JSON.stringify(secret)}).read())`, ["error"]],
  [
    "a file of the host, written",
    `open(${JSON.stringify(join(folder, "written.txt"))}, 'w').write('x')\nprint('pwned')`,
    ["error"],
  ],
  [
    "the environment",
    "import os\nprint('pwned' if 'PATH' in os.environ and '/usr' in os.environ['PATH'] and 'SURPRISAL_PROBE' in os.environ else '')",
    ["wrong output"],
  ],
  ["a socket", "import socket\nsocket.create_connection(('127.0.0.1', 80))\nprint('pwned')", ["error"]],
  ["urllib", "import urllib.request\nurllib.request.urlopen('http://127.0.0.1/')\nprint('pwned')", ["error"]],
  ["js", "import js\nprint('pwned')", ["error"]],
  ["pyodide_js", "import pyodide_js\nprint('pwned')", ["error"]],
  ["pyodide's run_js", "from pyodide.code import run_js\nrun_js('1')\nprint('pwned')", ["error"]],
  [
    "_pyodide_core, with the refusal removed",
    `import sys
sys.meta_path[:] = [f for f in sys.meta_path if '_Refusal' not in repr(f)]
import _pyodide_core as core
for name in dir(core):
    value = getattr(core, name)
    try:
        made = value([1]) if callable(value) else value
        for o in (value, made):
            world = o.constructor.constructor('return globalThis')()
            print('pwned', world)
    except BaseException: pass`,
    ["wrong output", "error", "crash"],
  ],
  ["ctypes", "import ctypes\nctypes.CDLL(None)\nprint('pwned')", ["error"]],
  ["NODEFS", "from pyodide_js import FS\nFS.mount(FS.filesystems.NODEFS, {}, '/mnt')\nprint('pwned')", ["error"]],
  ["micropip", "import micropip\nprint('pwned')", ["error"]],
  [
    "JavaScript through what the collector knows",
    `import gc
found = [o for o in gc.get_objects() if type(o).__name__.startswith('Js') or type(o).__name__ == 'JsProxy']
for cls in object.__subclasses__():
    for name, value in list(vars(cls).items()):
        for source in (getattr(value, '__globals__', {}) or {}).values():
            if 'Js' in type(source).__name__: found.append(source)
for o in found:
    try:
        world = o.constructor.constructor('return globalThis')()
        print('pwned', getattr(world, 'process', None))
    except Exception: pass`,
    ["wrong output", "error"],
  ],
  [
    "the frames above it",
    "import sys\nf = sys._getframe()\nwhile f:\n  for v in list(f.f_locals.values()) + list(f.f_globals.values()):\n    if isinstance(v, (str, dict, list)) and 'nee' + 'dle-out' in repr(v): print('pwned')\n  f = f.f_back",
    ["wrong output"],
  ],
  [
    "the expected output, among all objects",
    "import gc\nfor o in gc.get_objects():\n  try:\n    if isinstance(o, (dict, list)) and 'nee' + 'dle-out' in repr(o): print('pwned')\n  except Exception: pass",
    ["wrong output"],
  ],
  ["an exit handler", "import atexit\natexit.register(lambda: print('pwned'))", ["wrong output"]],
  [
    "a thread of its own",
    "import threading\nt = threading.Thread(target=lambda: print('ran'))\nt.daemon = True\nt.start()",
    ["wrong output"],
  ],
];

const GOOD = "import builtins, sys\nprint(sum(map(int, input().split())), len(sys.argv), builtins.len([1]))";
const LEGACY =
  "import builtins, sys, json\nbuiltins.len = lambda x: 99\nsys.argv.append('x')\njson.dumps = None\nprint = None";

let results: RewardResult[];
let sandbox: ReturnType<typeof built.createCodeSandbox>;

beforeAll(async () => {
  writeFileSync(secret, "pwned");
  process.env["SURPRISAL_PROBE"] = "1";
  sandbox = built.createCodeSandbox({ workers: 2 });
  const tests = { io: [{ input: "1 2\n", output: "needle-out" }] };
  // What may end at the time limit is not waited for; what may not has time on a busy machine too.
  const judge = (late: boolean) => {
    const programs = ATTEMPTS.filter(([, , reasons]) => reasons.includes(LATE) === late).map(([, program]) => program);
    return built.codeReward(programs, tests, { sandbox, timeLimit: late ? 2000 : 30_000 });
  };
  const [ended, late] = await Promise.all([judge(false), judge(true)]);
  results = ATTEMPTS.map(([, , reasons]) => (reasons.includes(LATE) ? late : ended).shift()!);
});

afterAll(async () => {
  delete process.env["SURPRISAL_PROBE"];
  await sandbox.dispose();
  rmSync(folder, { recursive: true, force: true });
});

test.each(ATTEMPTS.map(([name, , reasons], i) => [name, reasons, i] as const))(
  "%s is a reward of 0, with its reason",
  (_, reasons, i) => {
    const { reward, reason, details } = results[i]!;
    expect(reward).toBe(0);
    expect(reasons).toContain(reason);
    expect(JSON.stringify(details)).not.toContain("pwned");
  },
);

test("the host is untouched", () => {
  expect(readdirSync(folder)).toEqual(["secret.txt"]);
  expect(existsSync("/tmp/f")).toBe(false);
});

test("the next program has a fresh interpreter", async () => {
  const io = [{ input: "20 22\n", output: "42 1 1" }];
  const [legacy, good] = await built.codeReward([LEGACY, GOOD], { io }, { sandbox });
  expect(legacy!.reward).toBe(0);
  expect(good).toMatchObject({ reward: 1, reason: "passed" });
});

test("a program reads every character there is", async () => {
  const io = [{ input: "a\0b\r\nü\u{1f600}\n", output: "8 [97, 0, 98, 13, 10, 252, 128512, 10]" }];
  const program = "import sys\ntext = sys.stdin.buffer.read().decode()\nprint(len(text), [ord(c) for c in text])";
  const [result] = await built.codeReward([program], { io }, { sandbox });
  expect(result).toMatchObject({ reward: 1, reason: "passed" });
});

test("part of the tests is part of the reward, where that is asked for", async () => {
  const tests = {
    io: [
      { input: "1\n", output: "2" },
      { input: "2\n", output: "5" },
      { input: "3\n", output: "6" },
    ],
  };
  const program = "Here:\n```python\nprint(int(open(0).read()) * 2)\n```\nDone.";
  const [all] = await built.codeReward([program], tests, { sandbox });
  expect(all).toEqual({ reward: 0, reason: "wrong output", details: { passed: 1, total: 3, test: 1, printed: "4\n" } });
  const [part] = await built.codeReward([program], tests, { sandbox, credit: "fraction" });
  expect(part!.reward).toBeCloseTo(2 / 3, 12);
});

test("an abort stops a program that runs", async () => {
  const abort = new AbortController();
  const call = built.codeReward(
    ["while True: pass"],
    { io: [{ input: "", output: "" }] },
    { sandbox, timeLimit: 60_000, signal: abort.signal },
  );
  setTimeout(() => abort.abort(new Error("enough")), 200);
  await expect(call).rejects.toThrow("enough");
});

test("a disposed sandbox refuses, and bad calls are refused before anything runs", async () => {
  const closed = built.createCodeSandbox();
  await closed.dispose();
  const io = [{ input: "", output: "" }];
  await expect(built.codeReward(["1"], { io }, { sandbox: closed })).rejects.toMatchObject({
    code: "ERR_SURPRISAL_SANDBOX",
  });
  await expect(built.codeReward(["1"], {})).rejects.toMatchObject({ code: "ERR_SURPRISAL_OPTION" });
  await expect(built.codeReward(["1"], [{ io }, { io }])).rejects.toMatchObject({ code: "ERR_SURPRISAL_SHAPE" });
  expect(() => built.createCodeSandbox({ workers: 0 })).toThrow("workers");
});
