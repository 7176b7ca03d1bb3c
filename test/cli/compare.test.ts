// surprisal compare and what surprisal report exports.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { documentOf, surprisal, temporaryFolder } from "./in-process";

const folder = temporaryFolder();

/** A folder with a file a step, which names no steps itself. */
function runFolder(name: string, rewardOf: (step: number, prompt: number) => number): string {
  const place = folder.path(name);
  mkdirSync(place, { recursive: true });
  for (const step of [2, 10])
    writeFileSync(
      join(place, `step_${step}.jsonl`),
      Array.from({ length: 8 }, (_, p) =>
        JSON.stringify({ prompt: `p${p}`, text: `answer ${p}`, reward: rewardOf(step, p) }),
      ).join("\n"),
    );
  writeFileSync(join(place, "notes.txt"), "no rollouts");
  return place;
}

interface Document {
  readonly comparison: {
    readonly curves: readonly {
      readonly name: string;
      readonly series: readonly { step: number; value: number }[][];
    }[];
    readonly differences: readonly { readonly figure: string; readonly difference: number }[];
  };
}

test("folders are runs: steps are the numbers of their files, in their order", async () => {
  const [one, two] = [runFolder("one", () => 0.5), runFolder("two", (step) => (step === 10 ? 1 : 0))];
  const { comparison } = documentOf(await surprisal(["compare", one, two, "--json"])) as Document;
  expect(comparison.curves.find(({ name }) => name === "reward/mean")!.series).toEqual([
    [
      { step: 2, value: 0.5 },
      { step: 10, value: 0.5 },
    ],
    [
      { step: 2, value: 0 },
      { step: 10, value: 1 },
    ],
  ]);
  expect(comparison.differences).toEqual([expect.objectContaining({ figure: "reward", difference: 0.5 })]);
});

test("writes the page, every table, and events and scalars of each run", async () => {
  const [one, two] = [runFolder("one", () => 0.5), runFolder("two", () => 1)];
  const [out, csv, events] = [folder.path("page.html"), folder.path("csv"), folder.path("events")];
  const scalars = folder.path("scalars");
  const { code, stdout, stderr } = await surprisal([
    "compare",
    one,
    two,
    "--name",
    "base line",
    "--out",
    out,
    "--csv",
    csv,
    "--tensorboard",
    events,
    "--scalars",
    scalars,
    "-q",
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("8 prompts in common: 8 better, 0 worse");
  expect(stdout).toContain(`wrote ${out}`);
  expect(readFileSync(out, "utf8")).toContain("base line");
  expect(readdirSync(csv).sort()).toEqual(["curves.csv", "differences.csv", "prompts.csv"]);
  expect(readdirSync(events).sort()).toEqual(["base_line", "two"]);
  expect(readdirSync(join(events, "two"))).toEqual(["events.out.tfevents.surprisal"]);
  expect(readdirSync(scalars).sort()).toEqual(["base_line.jsonl", "two.jsonl"]);
  const rows = readFileSync(join(scalars, "two.jsonl"), "utf8").trimEnd().split("\n");
  expect(rows.map((row) => JSON.parse(row) as unknown)).toEqual(
    [2, 10].map((_step) => expect.objectContaining({ _step, "reward/mean": 1 }) as unknown),
  );
});

test("report writes its tables, events and scalars too", async () => {
  const one = runFolder("one", (step) => step);
  const at = folder.path;
  const { code } = await surprisal([
    ...["report", join(one, "step_2.jsonl"), "-o", at("r.html"), "--csv", at("tables"), "-q"],
    ...["--tensorboard", at("tb"), "--scalars", at("scalars.jsonl")],
  ]);
  expect(code).toBe(0);
  expect(readdirSync(at("tables")).sort()).toEqual(["groups.csv", "histograms.csv", "rollouts.csv", "steps.csv"]);
  expect(readFileSync(join(at("tables"), "rollouts.csv"), "utf8").split("\r\n")).toHaveLength(10);
  const rows = readFileSync(at("scalars.jsonl"), "utf8").trimEnd().split("\n");
  expect(rows.map((row) => JSON.parse(row) as unknown)).toEqual([
    expect.objectContaining({ _step: 0, "reward/mean": 2 }),
  ]);
  expect(readdirSync(at("tb"))).toEqual(["events.out.tfevents.surprisal"]);
});

test("what cannot be compared is refused in one line", async () => {
  const one = runFolder("one", () => 1);
  const empty = folder.path("empty");
  mkdirSync(empty);
  const refused = async (...args: readonly string[]) => {
    const { code, stderr } = await surprisal(["compare", ...args, "-q"]);
    return [code, stderr.trimEnd()];
  };
  expect(await refused(one)).toEqual([2, expect.stringContaining("at least 2 of runs")]);
  expect(await refused(one, one)).toEqual([2, expect.stringContaining('two runs are called "one"; --name')]);
  expect(await refused(one, empty)).toEqual([1, expect.stringContaining("no file of rollouts in it")]);
  expect(await refused(one, folder.path("absent.jsonl"))).toEqual([1, expect.stringContaining("absent.jsonl")]);
  expect(await refused(one, empty, "--last-steps", "2")).toEqual([2, expect.stringContaining('--last-steps is "2"')]);
  expect(await refused(one, empty, ...["a", "b", "c"].flatMap((name) => ["--name", name]))).toEqual([
    2,
    expect.stringContaining("--name stands 3 times, for 2 runs"),
  ]);
});
