// What all commands have in common: help, exit codes, errors in one line, --json.
import { COMMANDS } from "../../lib/cli/commands";
import { closest, editDistance } from "../../lib/core/closest";
import { EXIT_CODES } from "../../lib/cli/shell/exit-codes";
import { read } from "../repo/rules/files";
import { documentOf, surprisal, temporaryFolder } from "./in-process";

const folder = temporaryFolder();
const names = COMMANDS.map(({ name }) => name);

test("every promised command is there", () => {
  expect([...names].sort()).toEqual([
    ...[
      "advantages",
      "bench",
      "build",
      "compare",
      "convert",
      "demo",
      "docs",
      "doctor",
      "entropy",
      "inspect",
      "loss",
      "merge",
      "report",
      "reward",
      "view",
    ],
  ]);
});

test.each(names)("%s --help has usage, options and an example of itself, and exits 0", async (name) => {
  const { code, stdout, stderr } = await surprisal([name, "--help"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain(`usage: surprisal ${name}`);
  expect(stdout).toContain("--json");
  expect(stdout.split("\nexamples\n")[1]).toContain(`surprisal ${name}`);
  for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(140);
});

test("--help lists the commands and the exit codes; no command is a wrong command line", async () => {
  const { code, stdout } = await surprisal(["--help"]);
  expect(code).toBe(0);
  for (const name of names) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, "m"));
  for (const [exit, meaning] of EXIT_CODES)
    expect(stdout).toMatch(new RegExp(`^  ${exit} +${meaning.replace(/[()]/g, "\\$&")}$`, "m"));
  expect(await surprisal([])).toMatchObject({ code: 2, stdout: "" });
});

test("--version is the package's", async () => {
  const { version } = JSON.parse(read("package.json")) as { version: string };
  expect(await surprisal(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

test.each([
  [["docter"], 'did you mean "doctor"?'],
  [["docs", "grp"], 'did you mean "grpo"?'],
  [["doctor", "--jsn"], "did you mean --json?"],
  [["doctor", "a.jsonl"], "takes no files"],
  [["doctor", "--json=yes"], "takes no value"],
  [["inspect"], "needs at least 1 of rollout files"],
  [["inspect", "x.jsonl", "--from"], "needs a value"],
  [["inspect", "x.jsonl", "--from", "--quiet"], "needs a value"],
  [["inspect", "x.jsonl", "--from", "varl"], 'did you mean "verl"?'],
  [["inspect", "x.jsonl", "--map", "reward"], '--map is "reward", expected FIELD=NAME'],
  [["inspect", "x.jsonl", "--reward-weight", "a=high"], '--reward-weight a is "high", expected a number'],
  [["advantages", "x.jsonl"], "--estimator is missing, expected one of gae, grpo"],
  [["advantages", "x.jsonl", "--estimator", "gropo"], 'did you mean "grpo"?'],
  [["advantages", "x.jsonl", "-e", "grpo", "--scoreover", "kept"], "did you mean --score-over?"],
  [["advantages", "x.jsonl", "-e", "grpo", "--scale", "sdt"], 'did you mean "std"?'],
  [["advantages", "x.jsonl", "-e", "grpo", "--epsilon", "small"], '"small", expected a number'],
  [["advantages", "x.jsonl", "-e", "grpo", "--preset", "verly"], 'did you mean "verl"?'],
  [["advantages", "x.jsonl", "-e", "grpo", "--options", '{"epsilom": 1}'], 'did you mean "epsilon"?'],
  [["advantages", "x.jsonl", "-e", "grpo", "--options", "{"], "--options is not JSON"],
  [["advantages", "x.jsonl", "-e", "grpo", "--field", "rewards"], "expected ARGUMENT=FIELD"],
  [["advantages", "x.jsonl", "-e", "grpo", "--field", "reward=reward"], 'did you mean "rewards"?'],
  [["advantages", "x.jsonl", "-e", "grpo", "--field", "rewards=rewurd"], 'did you mean "reward"?'],
  [["advantages", "x.jsonl", "-e", "grpo", "--out", "x.txt"], "--to names the layout"],
  [["loss", "x.jsonl", "--loss", "poo"], 'did you mean "ppo"?'],
  [["convert", "x.jsonl"], "the file to write is missing"],
  [["entropy", "x.jsonl", "--temperature", "2"], "is for logits in a tensor file"],
  [["demo", "--methods", "grpo,ppo"], "--methods"],
  [["demo", "--steps", "1.5"], "expected a whole number from 1 on"],
  [["view"], "needs at least 1 of a folder, or a file of rollouts"],
  [["view", "run", "--port", "high"], "expected a whole number from 0 on"],
  [["bench", "--backends", "gpu"], "--backends"],
  [["build", "--arch", "9.0", "--cuda"], "without the dot"],
])("surprisal %j is refused with exit code 2 and one line that helps", async (args, text) => {
  const { code, stdout, stderr } = await surprisal(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("ERR_SURPRISAL_OPTION: ");
  expect(stderr).toContain(text);
  expect(stderr.trimEnd()).not.toContain("\n");
});

test("a file that is not there is a failure with its name; with --json also a document", async () => {
  const missing = folder.path("none.jsonl");
  const { code, stdout, stderr } = await surprisal(["inspect", missing]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^surprisal inspect: ERR_SURPRISAL_FILE: .*none\.jsonl.*\n$/);
  const outcome = await surprisal(["inspect", missing, "--json"]);
  expect(outcome.code).toBe(1);
  expect((documentOf(outcome) as { error: { code: string; message: string } }).error).toMatchObject({
    code: "ERR_SURPRISAL_FILE",
  });
});

describe("the nearest name", () => {
  test.each([
    ["", "abc", 3],
    ["kitten", "sitting", 3],
    ["form", "from", 1],
  ])("%j and %j are %i edits apart", (a, b, edits) => {
    expect(editDistance(a, b)).toBe(edits);
    expect(editDistance(b, a)).toBe(edits);
  });

  test("is found whatever the case and the hyphens, by its beginning, and not at any price", () => {
    const known = ["reinforcePlusPlus", "grpo", "rloo", "rlooWithKl"];
    expect(closest("REINFORCE-PLUS-PLUS", known)).toBe("reinforcePlusPlus");
    expect(closest("reinforce", known)).toBe("reinforcePlusPlus");
    expect(closest("rlo", known)).toBe("rloo");
    expect(closest("transformer", known)).toBeUndefined();
  });
});
