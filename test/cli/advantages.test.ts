import { readFileSync } from "node:fs";
import {
  advantageNames,
  computeAdvantages,
  egpoAdvantage,
  empgAdvantage,
  grpoAdvantage,
  ppoLoss,
  policyLossNames,
} from "../../lib";
import { backendOfAllSizes } from "../../lib/backend/select";
import ESTIMATORS from "../../lib/advantage/estimators";
import LOSSES from "../../lib/loss/policy/losses";
import { readAllRollouts } from "../../lib/io";
import { documentOf, jsonl, surprisal, temporaryFolder } from "./in-process";
import { NEEDED, records, recordText } from "./records";

const folder = temporaryFolder();
/** Of the command line: the same one for batches of all sizes. */
const backend = backendOfAllSizes();

interface Document {
  readonly batches: readonly {
    readonly batch: string;
    readonly rollouts: number;
    readonly groups: number;
    readonly fields: Record<string, string>;
    readonly advantages: { mean: number };
  }[];
  readonly options: Record<string, unknown>;
}

const packed = (lists: readonly (readonly number[])[]): Float64Array => Float64Array.from(lists.flat());
function arrays(lines: ReturnType<typeof records>) {
  const offsets = Int32Array.from([
    0,
    ...lines.map((_, row) => lines.slice(0, row + 1).reduce((sum, { token_ids }) => sum + token_ids.length, 0)),
  ]);
  return {
    offsets,
    tokens: Int32Array.from(lines.flatMap(({ token_ids }) => token_ids)),
    mask: Uint8Array.from(lines.flatMap(({ mask }) => mask)),
    rewards: Float64Array.from(lines, ({ reward }) => reward),
    groups: lines.map(({ group }) => group),
    entropies: packed(lines.map(({ entropies }) => entropies)),
    old: packed(lines.map(({ old_logprobs }) => old_logprobs)),
    sampler: packed(lines.map(({ sampler_logprobs }) => sampler_logprobs)),
    values: packed(lines.map(({ values }) => values)),
  };
}

test.each(advantageNames)(
  "--estimator %s runs on rollouts that have what it reads, and gives finite numbers that are 0 under the mask",
  async (name) => {
    const input = folder.file(`${name}.jsonl`, recordText(1));
    const out = folder.path(`${name}.out.jsonl`);
    const outcome = await surprisal(["advantages", input, "-e", name, ...(NEEDED[name] ?? []), "--out", out, "--json"]);
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    const { rollouts } = await readAllRollouts(out);
    expect(rollouts).toHaveLength(12);
    const spread = new Set<number>();
    for (const { advantages, mask, tokenIds } of rollouts) {
      expect(advantages).toHaveLength(tokenIds!.length);
      advantages!.forEach((advantage, t) => {
        expect(Number.isFinite(advantage)).toBe(true);
        // EMPG keeps what lies outside its steps, ReMax has the return there, and puff knows no mask.
        if (mask![t] === 0 && !["empg", "puff", "remax"].includes(name)) expect(advantage).toBe(0);
        spread.add(advantage);
      });
    }
    expect(spread.size).toBeGreaterThan(3);
  },
);

test("EMPG on a command line is grpoAdvantage and empgAdvantage, with the delimiters that the rollouts name", async () => {
  const lines = records(2, 3, 4);
  const out = folder.path("empg.parquet");
  const outcome = await surprisal([
    "advantages",
    folder.file("empg.jsonl", jsonl(lines)),
    "--estimator",
    "empg",
    "--zeta",
    "0.3",
    "--out",
    out,
    "--json",
  ]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  const { offsets, tokens, mask, rewards, groups, entropies } = arrays(lines);
  const rowAdvantages = grpoAdvantage({ rewards, groups }, { backend }).rowAdvantages;
  const { advantages } = empgAdvantage(
    { offsets, tokens, mask, entropies, rowAdvantages },
    { start: [[4]], end: [[5]], zeta: 0.3, backend },
  );
  const { rollouts } = await readAllRollouts(out);
  expect(rollouts.flatMap((rollout) => Array.from(rollout.advantages!))).toEqual(Array.from(advantages));
  expect((documentOf(outcome) as Document).batches[0]!.fields).toMatchObject({
    start: "meta.delimiters",
    entropies: "entropies",
  });
});

test("EGPO on a command line takes the tags that the rollouts name, and a flag wins", async () => {
  const lines = records(9, 3, 4).map((line) => ({
    ...line,
    meta: { ...line.meta, delimiters: { think_start: 5, think_end: 6 } },
  }));
  const input = folder.file("egpo-tags.jsonl", jsonl(lines));
  const out = folder.path("egpo-tags.out.jsonl");
  const { tokens, old: _, sampler: __, values: ___, ...batch } = arrays(lines);
  const of = async (...args: string[]): Promise<number[]> => {
    const outcome = await surprisal(["advantages", input, "-e", "egpo", "--mode", "thinking", "--out", out, ...args]);
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    const { rollouts } = await readAllRollouts(out);
    return rollouts.flatMap((rollout) => Array.from(rollout.advantages!));
  };
  const want = (thinkStart: number): number[] => [
    ...egpoAdvantage({ ...batch, tokens }, { mode: "thinking", thinkStart, thinkEnd: 6, backend }).advantages,
  ];
  expect(await of()).toEqual(want(5));
  expect(await of("--think-start", "4")).toEqual(want(4));
  expect(want(4)).not.toEqual(want(5));
});

test("flags, --options and a file of options say the same; a flag wins", async () => {
  const lines = records(3, 2, 4);
  const input = folder.file("options.jsonl", jsonl(lines));
  const file = folder.file("options.json", '{"scale": "none", "singleton": "raw"}');
  const mean = async (...args: string[]): Promise<[number, Record<string, unknown>]> => {
    const { batches, options } = documentOf(
      await surprisal(["advantages", input, "-e", "grpo", "--json", ...args]),
    ) as Document;
    return [batches[0]!.advantages.mean, options];
  };
  const [flags, given] = await mean("--scale", "none", "--singleton", "raw");
  expect(given).toEqual({ scale: "none", singleton: "raw" });
  expect(await mean("--options", file)).toEqual([flags, given]);
  expect(await mean("--options", '{"scale": "std", "singleton": "raw"}', "--scale", "none")).toEqual([
    flags,
    { scale: "none", singleton: "raw" },
  ]);
  const { rewards, groups, offsets, mask } = arrays(lines);
  const { advantages } = computeAdvantages("grpo", { rewards, groups, offsets, mask }, { preset: "verl" });
  const [verl] = await mean("--preset", "verl");
  const kept = Array.from(advantages).filter((_, i) => mask[i] !== 0);
  expect(verl).toBeCloseTo(kept.reduce((sum, x) => sum + x, 0) / kept.length, 12);
});

test("a step of a file is a batch; --batch all is one, with groups of steps apart", async () => {
  const lines = [0, 1].flatMap((step) => records(4 + step, 2, 3).map((line) => ({ ...line, step })));
  const input = folder.file("steps.jsonl", jsonl(lines));
  const of = async (...args: string[]) =>
    (documentOf(await surprisal(["advantages", input, "-e", "grpo", "--json", ...args])) as Document).batches;
  expect((await of()).map(({ batch, rollouts, groups }) => [batch, rollouts, groups])).toEqual([
    ["step 0", 6, 2],
    ["step 1", 6, 2],
  ]);
  expect((await of("--batch", "all")).map(({ rollouts, groups }) => [rollouts, groups])).toEqual([[12, 4]]);
});

test("what a rollout lacks is said with its number, the argument and the flag that takes another field", async () => {
  const [first, second, ...rest] = records(5, 2, 2);
  const { entropies: _, ...without } = second!;
  const input = folder.file("lacks.jsonl", jsonl([first!, without, ...rest]));
  const { code, stderr } = await surprisal(["advantages", input, "-e", "empg"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /ERR_SURPRISAL_FILE: .*lacks\.jsonl, step 7: rollout 2 has no entropies, which --estimator empg reads as entropies; --field entropies=NAME/,
  );
});

test("text without tokens has advantages per rollout where only the outcome counts, and is refused where tokens do", async () => {
  const lines = [1, 0, 0.5, 0.25].map((reward, row) => ({ group: row < 2 ? "a" : "b", text: `answer ${row}`, reward }));
  const input = folder.file("text.jsonl", jsonl(lines));
  const out = folder.path("text.out.jsonl");
  expect((await surprisal(["advantages", input, "-e", "rloo", "--out", out])).code).toBe(0);
  const { rollouts } = await readAllRollouts(out);
  expect(rollouts.map(({ advantage }) => advantage)).toEqual([1, -1, 0.25, -0.25]);
  const { code, stderr } = await surprisal(["advantages", input, "-e", "opo"]);
  expect(code).toBe(1);
  expect(stderr).toContain("has text and no tokens");
});

test.each([
  ["advantages", advantageNames, ESTIMATORS],
  ["loss", policyLossNames, LOSSES],
] as const)(
  "%s --list has a line for each name, with what it computes, and asks for no files",
  async (command, names, table) => {
    const about = Object.fromEntries(
      names.map((name) => [name, (table as Record<string, { about: string }>)[name]!.about]),
    );
    expect(Object.values(about).filter((text) => text.length < 10)).toEqual([]);
    const { code, stdout, stderr } = await surprisal([command, "--list"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => /^ {2}(\S+) +(.*)$/.exec(line)?.slice(1))).toEqual(Object.entries(about));
    const json = await surprisal([command, "--list", "--json"]);
    expect(JSON.parse(json.stdout)).toEqual(about);
  },
);

test("recorded advantages are compared with the computed ones", async () => {
  const lines = [
    { reward: 1, advantage: 1 },
    { reward: 0, advantage: -0.5 },
  ].map((line) => ({ ...line, group: "a", token_ids: [1] }));
  const outcome = await surprisal(["advantages", folder.file("compare.jsonl", jsonl(lines)), "-e", "rloo", "--json"]);
  expect(
    (documentOf(outcome) as { batches: { differenceFromRecorded: number }[] }).batches[0]!.differenceFromRecorded,
  ).toBe(0.5);
});

test("--report writes a page that holds the estimator and loads nothing", async () => {
  const page = folder.path("report.html");
  const outcome = await surprisal([
    "advantages",
    folder.file("page.jsonl", recordText(6)),
    "-e",
    "empg",
    "--report",
    page,
  ]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  expect(outcome.stdout).toContain(`wrote ${page}`);
  const html = readFileSync(page, "utf8");
  expect(html).toMatch(/^<!doctype html>/i);
  expect(html).toContain("empg");
  expect(html).not.toMatch(/<(script|link|img)[^>]+(src|href)=["']?https?:/i);
});

describe("surprisal loss", () => {
  const OPTIONS: Readonly<Record<string, readonly string[]>> = {
    cispo: ["--clip-high", "0.2"],
    clipCov: ["--clip", "0.2", "--seed", "1"],
    optimalValue: ["--beta", "0.1"],
    bypass: ["--objective", "clip", "--clip", "0.2"],
    dppo: ["--low", "0.1", "--high", "0.2"],
    dro: ["--beta", "0.1"],
    dppoTv: ["--low", "0.1", "--high", "0.2"],
    dppoKl: ["--low", "0.1", "--high", "0.2"],
    kimi: ["--beta", "0.1"],
    real: ["--tau", "0.5"],
  };
  const withAdvantages = (seed: number) =>
    records(seed, 2, 3).map((line) => ({
      ...line,
      advantage: line.reward,
      advantages: line.mask.map((kept) => kept * line.reward),
    }));

  test.each(policyLossNames)("--loss %s gives a finite loss and a gradient", async (name) => {
    const input = folder.file(`loss-${name}.jsonl`, jsonl(withAdvantages(7)));
    const outcome = await surprisal([
      "loss",
      input,
      "-l",
      name,
      ...(OPTIONS[name] ?? ("clip" in LOSSES[name].options ? ["--clip", "0.2"] : [])),
      "--field",
      "logProbs=reference_logprobs",
      "--json",
    ]);
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    const [batch] = (documentOf(outcome) as { batches: { loss: number; gradientNorm: number }[] }).batches;
    expect(Number.isFinite(batch!.loss)).toBe(true);
    expect(batch!.gradientNorm).toBeGreaterThan(0);
  });

  test("ppo is ppoLoss on the fields it says, with the gradient in the rollouts", async () => {
    const lines = withAdvantages(8);
    const out = folder.path("ppo.out.jsonl");
    const outcome = await surprisal([
      "loss",
      folder.file("ppo.jsonl", jsonl(lines)),
      "-l",
      "ppo",
      "--clip-low",
      "0.2",
      "--clip-high",
      "0.28",
      "--field",
      "logProbs=reference_logprobs",
      "-o",
      out,
      "--json",
    ]);
    const { offsets, mask, old } = arrays(lines);
    const logProbs = packed(lines.map(({ reference_logprobs }) => reference_logprobs));
    const advantages = packed(lines.map((line) => line.advantages));
    const want = ppoLoss(
      { logProbs, oldLogProbs: old, advantages, advantagesPer: "token", mask, offsets },
      { clipLow: 0.2, clipHigh: 0.28, backend },
    );
    const [batch] = (documentOf(outcome) as { batches: { loss: number; fields: Record<string, string> }[] }).batches;
    expect(batch!.loss).toBe(want.loss);
    expect(batch!.fields).toMatchObject({ logProbs: "reference_logprobs", oldLogProbs: "old_logprobs" });
    const { rollouts } = await readAllRollouts(out);
    expect(rollouts.flatMap(({ meta }) => meta!["grad_logprobs"] as number[])).toEqual(Array.from(want.gradLogProbs));
  });

  test("an option that the library misses is named as the flag that it is here", async () => {
    const { code, stderr } = await surprisal([
      "loss",
      folder.file("missing.jsonl", jsonl(withAdvantages(10))),
      "-l",
      "ppo",
    ]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/ERR_SURPRISAL_OPTION: ppoLoss: clipLow is undefined.* \(--clip-low\)\n$/);
  });

  test("ratios that must all be 1 are said to be", async () => {
    const { stdout } = await surprisal([
      "loss",
      folder.file("same.jsonl", jsonl(withAdvantages(9))),
      "-l",
      "ppo",
      "--clip",
      "0.2",
    ]);
    expect(stdout).toContain("the same field: every ratio is 1");
  });
});

describe("delimiters as text", () => {
  // "<step>" is spelt in two ways: one token, and three.
  const texts = new Map([
    [1, "a"],
    [2, "<step>"],
    [3, "<"],
    [4, "step"],
    [5, ">b"],
    [6, "</step>"],
    [7, "."],
  ]);
  const line = (ids: readonly number[], reward: number, more: object = {}) => ({
    group: "g",
    token_ids: ids,
    tokens: ids.map((id) => texts.get(id)),
    entropies: ids.map((id) => id / 4),
    reward,
    ...more,
  });
  const rollouts = [line([1, 2, 1, 6, 7], 1), line([1, 3, 4, 5, 1, 6], 0)];
  const flags = (start: string, end: string) => ["-e", "empg", "--start", start, "--end", end, "--json"];
  const input = (lines: readonly object[]): string => folder.file("texts.jsonl", jsonl(lines));

  test("are the ids of all the tokens that spell them", async () => {
    const of = async (start: string, end: string) =>
      (documentOf(await surprisal(["advantages", input(rollouts), ...flags(start, end)])) as Document).batches;
    const byText = await of("<step>", "</step>");
    expect(byText).toEqual(await of("[[2],[3,4,5]]", "[[6]]"));
    expect(byText).not.toEqual(await of("[[2]]", "[[6]]"));
  });

  test.each([
    [
      rollouts,
      "<stop>",
      /--start is the text "<stop>", which no rollout has in its tokens; token ids do without texts/,
    ],
    [rollouts.map(({ tokens: _, ...rest }) => rest), "<step>", /no rollout has the texts of its tokens \(tokens\)/],
  ])("say so where they cannot be found", async (lines, start, message) => {
    const { code, stderr } = await surprisal(["advantages", input(lines), ...flags(start, "[[6]]").slice(0, -1)]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});

test("equal rewards are those of the field that the estimator reads", async () => {
  const lines = [0, 1].map((i) => ({ group: "g", token_ids: [1], reward: 1, meta: { other: i } }));
  const file = folder.file("field.jsonl", jsonl(lines));
  const facts = async (...more: string[]) =>
    documentOf(await surprisal(["advantages", file, "-e", "grpo", "--json", ...more])) as {
      batches: { equalRewardGroups: number }[];
    };
  expect((await facts()).batches[0]!.equalRewardGroups).toBe(1);
  expect((await facts("--field", "rewards=meta.other")).batches[0]!.equalRewardGroups).toBe(0);
});

test("a page shows the rewards and entropies that the estimator read", async () => {
  const lines = [0, 1].map((i) => ({
    group: "g",
    token_ids: [1, 2],
    reward: 1,
    entropies: [0.5, 0.5],
    meta: { other: i, h: [4, 2] },
  }));
  const file = folder.file("read.jsonl", jsonl(lines));
  const page = folder.path("read.html");
  const fields = ["--field", "rewards=meta.other", "--field", "entropies=meta.h"];
  const delimiters = ["--start", "[[1]]", "--end", "[[2]]"];
  const shown = async (...more: string[]): Promise<unknown> => {
    await surprisal(["advantages", file, "-e", "empg", ...delimiters, "--report", page, ...more]);
    const text = readFileSync(page, "utf8");
    const data = /<script type="application\/json" id="report-data">(.*?)<\/script>/s.exec(text)![1]!;
    const { steps } = JSON.parse(data) as { steps: { rollouts: { reward: number; entropies: number[] }[] }[] };
    return [
      steps[0]!.rollouts.map(({ reward, entropies }) => [reward, ...entropies]),
      text.includes("100 % of groups have equal rewards"),
    ];
  };
  expect(await shown()).toEqual([
    [
      [1, 0.5, 0.5],
      [1, 0.5, 0.5],
    ],
    true,
  ]);
  expect(await shown(...fields)).toEqual([
    [
      [0, 4, 2],
      [1, 4, 2],
    ],
    false,
  ]);
});
