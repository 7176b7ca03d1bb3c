// Names of files and fields, and texts, that a terminal would obey: none of what a command prints does.
import { Progress } from "../../lib/cli/shell/progress";
import { documentOf, jsonl, surprisal, temporaryFolder } from "./in-process";
import { records } from "./records";

const folder = temporaryFolder();

/** Sets the window's title, hides text, colours it (in one character), turns its direction, begins a line of its own. */
const EVIL = "\u001b]0;title\u0007\u001b[8m\u009b31m\u202e\nwrote all";

const ACTS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

const NAME = `in${EVIL.replace("/", "")}.jsonl`;
const lines = records(3, 2, 3).map((record) => ({
  ...record,
  group: `${record.group}${EVIL}`,
  text: EVIL,
  rewards: { [EVIL]: record.reward },
  meta: { ...record.meta, answer: EVIL, [EVIL]: 1 },
}));

const COMMANDS: Readonly<Record<string, (input: string) => readonly string[]>> = {
  inspect: (input) => ["inspect", input],
  "inspect, two files": (input) => ["inspect", input, input, "--batch", "file"],
  advantages: (input) => ["advantages", input, "-e", "grpo", "--out", folder.path(`out${EVIL}.jsonl`)],
  "advantages of a field": (input) => ["advantages", input, "-e", "grpo", "--field", `rewards=rewards.${EVIL}`],
  "advantages without a field": (input) => ["advantages", input, "-e", "grpo", "--field", `rewards=meta.no${EVIL}`],
  "an estimator of no name": (input) => ["advantages", input, "-e", EVIL],
  loss: (input) => ["loss", input, "--loss", "ppo"],
  entropy: (input) => ["entropy", input],
  reward: (input) => ["reward", input, "-s", "egpo", "--answer", `answer${EVIL}`],
  convert: (input) => ["convert", input, folder.path(`converted${EVIL}.jsonl`)],
  report: (input) => ["report", input, "--out", folder.path(`page${EVIL}.html`), "--title", EVIL],
  "view of nothing": () => ["view", folder.path(`not${EVIL}`)],
  "a file that is not there": () => ["inspect", folder.path(`not${EVIL}`)],
  "a file that is no rollouts": () => ["inspect", folder.file(`bad${EVIL}`, `{"${EVIL}":`)],
  "a record with a wrong field": () => [
    "inspect",
    folder.file("wrong.jsonl", jsonl([{ text: "a", rewards: { [EVIL]: EVIL } }])),
  ],
  "records left out": () => [
    "inspect",
    folder.file("left-out.jsonl", jsonl([{ text: "a" }, { text: "a", rewards: { [EVIL]: EVIL } }])),
    "--skip-malformed",
  ],
  "a flag of no name": (input) => ["inspect", input, `--${EVIL}`],
  "a command of no name": () => [EVIL],
};

test.each(Object.entries(COMMANDS))("%s prints nothing that acts on a terminal", async (_, args) => {
  const line = args(folder.file(NAME, jsonl(lines)));
  const { stdout, stderr } = await surprisal(line);
  const json = await surprisal([...line, "--json"]);
  for (const text of [stdout, stderr, json.stdout, json.stderr]) expect(ACTS.exec(text)).toBeNull();
  // Nor does it make a line of its own.
  expect(`${stdout}\n${stderr}`).not.toMatch(/^wrote all/m);
});

test("JSON has every character all the same", async () => {
  const { files } = documentOf(await surprisal(["inspect", folder.file(NAME, jsonl(lines)), "--json"])) as {
    files: { name: string }[];
  };
  expect(files[0]!.name).toBe(folder.path(NAME));
});

test("the line of progress has no escape sequence but its own", () => {
  const texts: string[] = [];
  let now = 0;
  const progress = new Progress({ write: (text) => texts.push(text), columns: 200 }, true, () => (now += 1000));
  progress.start(`reading ${NAME}`, "bytes", 10);
  progress.reach(5);
  progress.end();
  expect(texts).toHaveLength(2);
  for (const text of texts) expect(ACTS.exec(text.replace("\r\u001b[2K", ""))).toBeNull();
  expect(texts[0]).not.toContain("\n");
});
