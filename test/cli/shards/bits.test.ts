// Parts that wait for each other in a folder give the files of one process, bit for bit: every estimator over everything, and every
// command over batches, of many files and of the rows of one.
import { readFileSync } from "node:fs";
import { advantageNames } from "../../../lib";
import { documentOf, jsonl, surprisal, temporaryFolder } from "../in-process";
import { NEEDED, records } from "../records";
import { inParts } from "./in-parts";

const folder = temporaryFolder();

/** Groups of no other file. */
const lines = (seed: number, groups: number, members: number, step = 7) =>
  records(seed, groups, members).map((line) => ({ ...line, step, group: `${line.group} of ${seed}` }));

/** Five files, uneven ones, with groups of one among them. */
const files = (): string[] =>
  [
    [1, 3, 3],
    [2, 1, 5],
    [3, 4, 1],
    [4, 2, 4],
    [5, 5, 2],
  ].map(([seed, groups, members]) => folder.file(`step_${seed}.jsonl`, jsonl(lines(seed!, groups!, members!))));

/** The answer without what differs: where the output went. */
function without(document: unknown): unknown {
  const { outputs: _, written: __, ...rest } = document as Record<string, unknown>;
  return rest;
}

test.each(advantageNames)(
  "advantages -e %s --batch all: three parts of five files write what one process writes",
  async (name) => {
    const args = ["advantages", ...files(), "-e", name, ...(NEEDED[name] ?? []), "--batch", "all"];
    const [whole, parts] = [folder.path(`${name}.whole.jsonl`), folder.path(`${name}.parts.jsonl`)];
    const alone = await surprisal([...args, "--out", whole, "--json"]);
    expect(alone).toMatchObject({ code: 0, stderr: "" });
    const { document, passes } = await inParts([...args, "--out", parts], folder.path(`${name}.shards`), 3);
    expect(readFileSync(parts, "utf8")).toBe(readFileSync(whole, "utf8"));
    expect(passes).toBeLessThanOrEqual(5);
    const [one] = (documentOf(alone) as { batches: { metrics: object; rollouts: number; fields: object }[] }).batches;
    const [same] = (document as { batches: (typeof one)[] }).batches;
    expect({ metrics: same!.metrics, rollouts: same!.rollouts, fields: same!.fields }).toEqual({
      metrics: one!.metrics,
      rollouts: one!.rollouts,
      fields: one!.fields,
    });
  },
);

test.each([1, 2, 3, 4, 7])("whitening over the rows of one file, in %i parts", async (count) => {
  const input = folder.file("one.jsonl", jsonl([...lines(6, 4, 3), ...lines(7, 3, 2)]));
  const args = [
    "advantages",
    input,
    "-e",
    "gae",
    "--gamma",
    "1",
    "--lambda",
    "0.9",
    "--whitening",
    "{}",
    "--batch",
    "all",
  ];
  const [whole, parts] = [folder.path("one.whole.jsonl"), folder.path(`one.${count}.jsonl`)];
  expect(await surprisal([...args, "--out", whole])).toMatchObject({ code: 0, stderr: "" });
  await inParts([...args, "--out", parts], folder.path(`one.${count}.shards`), count);
  expect(readFileSync(parts, "utf8")).toBe(readFileSync(whole, "utf8"));
});

describe.each([
  ["files", "step"],
  ["files", "file"],
  ["rows", "step"],
  ["rows", "file"],
] as const)("parts of %s, --batch %s", (units, batch) => {
  const input = (): string[] => {
    // Steps that lie between each other in a file.
    const mixed = [...lines(8, 3, 3, 1), ...lines(9, 2, 3, 2), ...lines(10, 2, 2, 1), ...lines(11, 3, 2, 3)];
    return units === "rows"
      ? [folder.file("mixed.jsonl", jsonl(mixed))]
      : [...files(), folder.file("mixed.jsonl", jsonl(mixed))];
  };

  test.each([
    ["advantages", ["-e", "empg"], "jsonl"],
    ["advantages", ["-e", "grpo"], "jsonl.gz"],
    ["advantages", ["-e", "grpo"], "parquet"],
    ["advantages", ["-e", "grpo"], "npz"],
    ["loss", ["-l", "ppo", "--clip", "0.2"], "jsonl"],
    ["entropy", [], undefined],
    ["report", [], "html"],
  ] as const)("%s %j writes and answers what one process does (%s)", async (command, flags, ending) => {
    const made = ["-e", "grpo", "--batch", batch, "--out", folder.path("made.jsonl")];
    const given = input();
    if (command === "loss") expect(await surprisal(["advantages", ...given, ...made])).toMatchObject({ code: 0 });
    const args = [command, ...(command === "loss" ? [folder.path("made.jsonl")] : given), ...flags, "--batch", batch];
    const [whole, parts] = [folder.path(`whole.${ending}`), folder.path(`parts.${ending}`)];
    const out = (file: string): string[] => (ending === undefined ? [] : ["--out", file]);
    const alone = await surprisal([...args, ...out(whole), "--json"]);
    expect(alone).toMatchObject({ code: 0, stderr: "" });
    const place = folder.path(`${command}-${units}-${batch}-${ending}.shards`);
    const { document, passes } = await inParts([...args, ...out(parts)], place, 3);
    expect(passes).toBe(1);
    expect(without(JSON.parse(JSON.stringify(document)))).toEqual(without(documentOf(alone)));
    if (ending !== undefined) expect(readFileSync(parts).equals(readFileSync(whole))).toBe(true);
  });
});

test("entropy --batch all: quantiles of everything, from three parts", async () => {
  const args = ["entropy", ...files(), "--batch", "all"];
  const alone = await surprisal([...args, "--json"]);
  const { document } = await inParts(args, folder.path("entropy-all.shards"), 3);
  expect(document).toEqual(documentOf(alone));
});

test("reward: judged in parts, counted together", async () => {
  const answers = ["\\boxed{2}", "\\boxed{\\frac{4}{2}}", "\\boxed{3}", "none", "\\boxed{2.0}"];
  const text = answers.map((answer, i) => ({
    group: `${i % 2}`,
    reward: 1,
    text: `so ${answer}`,
    meta: { answer: "2" },
  }));
  const input = folder.file("answers.jsonl", jsonl(text));
  const args = ["reward", input, "--scorer", "math"];
  const [whole, parts] = [folder.path("judged.jsonl"), folder.path("judged-parts.jsonl")];
  const alone = await surprisal([...args, "--out", whole, "--json"]);
  expect(alone).toMatchObject({ code: 0, stderr: "" });
  const { document } = await inParts([...args, "--out", parts], folder.path("reward.shards"), 2);
  expect(readFileSync(parts, "utf8")).toBe(readFileSync(whole, "utf8"));
  const facts = without(documentOf(alone)) as { rewards: { mean: number; std: number } };
  const same = without(document) as typeof facts;
  expect(same).toEqual({ ...facts, rewards: { ...facts.rewards, mean: same.rewards.mean, std: same.rewards.std } });
  expect(same.rewards.mean).toBeCloseTo(facts.rewards.mean, 14);
  expect(same.rewards.std).toBeCloseTo(facts.rewards.std, 14);
});
