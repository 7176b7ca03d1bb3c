// The demo as a user starts it.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readOptions, UsageError } from "../../examples/demo/options";
import { backendInfo } from "../../lib";
import { readAllRollouts, type Rollout } from "../../lib/io";
import { HANG_MS } from "../support/hang";

const { backends } = backendInfo();
const root = join(__dirname, "..", "..");
const TSX = join(root, "node_modules", "tsx", "dist", "cli.mjs");

function demo(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [TSX, join("examples", "demo", "main.ts"), ...args], {
    cwd: root,
    encoding: "utf8",
    timeout: HANG_MS,
  });
  return { status, stdout, stderr };
}

interface Output {
  readonly backend: { readonly selected: string };
  readonly rollouts: string;
  readonly report: string;
  readonly methods: readonly {
    readonly method: string;
    readonly entropyEnd: number;
    readonly runs: readonly { readonly seed: number; readonly rewardStart: number; readonly rewardEnd: number }[];
  }[];
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "surprisal-demo-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("GRPO with an entropy term, two seeds, 250 steps", () => {
  let output: Output;
  let records: readonly Rollout[];
  let stderr: string;

  beforeAll(async () => {
    const result = demo("--steps", "250", "--seeds", "1,2", "--methods", "grpo-entropy", "--json", "--out", folder);
    if (result.status !== 0) throw new Error(`the demo ended with ${result.status}\n${result.stderr}`);
    stderr = result.stderr;
    output = JSON.parse(result.stdout) as Output;
    records = (await readAllRollouts(output.rollouts, { from: "surprisal" })).rollouts;
  }, HANG_MS);

  // Rewards lie in [-0.5, 1]. Measured rises: 0.49, 0.51. Random answers of the right form stay where they are.
  test("reward rises by more than 0.25 on every seed", () => {
    const runs = output.methods[0]!.runs;
    expect(runs.map(({ seed }) => seed)).toEqual([1, 2]);
    for (const { rewardStart, rewardEnd } of runs) expect(rewardEnd - rewardStart).toBeGreaterThan(0.25);
  });

  test("it says which backend ran, and how far it is", () => {
    expect(stderr).toContain(`surprisal runs on ${output.backend.selected}`);
    expect(stderr).toMatch(/grpo-entropy seed \d: step \d+\/250, reward/);
  });

  test("it ends with a report of the recorded steps of a run", () => {
    const page = readFileSync(output.report, "utf8");
    expect(page).toContain("<!doctype html>");
    expect(page).toContain("Demo: GRPO + entropy term");
    for (const step of [0, 100, 200, 249]) expect(page).toContain(`step ${step}`);
  });

  test("rollouts of the first, every hundredth and the last step are canonical records of agreeing length", () => {
    expect(records).toHaveLength(2 * 4 * 128);
    expect(new Set(records.map(({ step }) => step))).toEqual(new Set([0, 100, 200, 249]));
    expect(new Set(records.map(({ group, step }) => `${group!} ${step!}`)).size).toBe(2 * 4 * 16);
    for (const record of records) {
      const { promptIds, tokenIds, samplerLogProbs, oldLogProbs, entropies, mask, advantages } = record;
      expect(promptIds).toHaveLength(4);
      for (const values of [samplerLogProbs, oldLogProbs, entropies, mask, advantages])
        expect(values).toHaveLength(tokenIds!.length);
      for (const values of [samplerLogProbs, oldLogProbs]) expect(values!.every((value) => value <= 0)).toBe(true);
      expect(entropies!.every((value) => value >= 0 && value <= Math.log(8))).toBe(true);
      expect(mask!.every((flag) => flag === 1)).toBe(true);
    }
  });

  test("sampler and trainer agree on the log-prob of every token", () => {
    // The same float32 network, evaluated for one position and for a whole batch: sums may be ordered differently.
    for (const { samplerLogProbs, recomputedLogProbs } of records)
      expect(samplerLogProbs).toBeAllClose(recomputedLogProbs!, { rtol: 1e-5, atol: 1e-5 });
  });

  test("rewards are what another reading of the response gives", () => {
    for (const { reward, finishReason, prompt, text } of records) {
      const [a, b, c, d, modulus] = prompt!.match(/\d+/g)!.map(Number);
      const right = [a! + b!, (a! + b!) * c!, (a! + b!) * c! + d!].map((value) => value % modulus!);
      const steps = [...text!.matchAll(/<step> (.*?)<\/step>/g)].map((match) => match[1]!.trim());
      const answer = /<answer> (.*?)<\/answer>/.exec(text!)?.[1]?.trim();
      const given = [steps[0], steps[1], answer];
      const form = given.filter((word) => /^\d$/.test(word ?? "")).length;
      const worked = [0, 1].filter((i) => given[i] === String(right[i])).length;
      expect(reward).toBeCloseTo(0.1 * (form + worked) + (answer === String(right[2]) ? 0.5 : -0.5), 12);
      expect(finishReason).toBe(text!.endsWith("</answer>") ? "stop" : "length");
    }
  });
});

describe("the command line", () => {
  test("prints a table with a line a method, and writes the rollouts of every step, a file a run", async () => {
    const every = join(folder, "every");
    const { status, stdout } = demo("--steps", "2", "--seeds", "1,2", "--out", folder, "--rollouts", every);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^method +reward start +end +spread +against GRPO +right answers +entropy +steps\/s$/m);
    for (const title of ["GRPO", "GRPO \\+ entropy term", "EMPG", "EGPO", "MaxEnt weights"])
      expect(stdout).toMatch(new RegExp(`^${title} +-?\\d\\.\\d\\d +-?\\d\\.\\d\\d +\\d\\.\\d\\d`, "m"));
    expect(readdirSync(every)).toHaveLength(5 * 2);
    const { rollouts } = await readAllRollouts(join(every, "egpo-2.jsonl"));
    expect(rollouts.map(({ step }) => step)).toEqual([...Array<number>(128).fill(0), ...Array<number>(128).fill(1)]);
  });

  test("--help lists the options", () => {
    const { status, stdout } = demo("--help");
    expect(status).toBe(0);
    for (const option of ["--steps", "--seeds", "--methods", "--backend", "--out", "--rollouts", "--json"])
      expect(stdout).toContain(option);
  });

  test("wrong options end with exit code 2 and nothing on stdout", () => {
    const { status, stdout, stderr } = demo("--stepz", "3");
    expect(status).toBe(2);
    expect(stderr).toContain("--stepz");
    expect(stdout).toBe("");
  });

  test.each([
    [["--steps", "none"], "--steps"],
    [["--methods", "grpo,ppo"], "ppo"],
    [["--seeds", "1,1"], "--seeds"],
    [["--backend", "tpu"], "tpu"],
  ])("%j is refused by name", (args, named) => {
    expect(() => readOptions(args)).toThrow(UsageError);
    expect(() => readOptions(args)).toThrow(named);
  });

  const absent = backends.find(({ available }) => !available);
  if (!absent) test.skip("every backend can run here: there is none to refuse", () => undefined);
  else
    test(`--backend ${absent.name}, which cannot run here, ends with exit code 1 and the reason`, () => {
      const { status, stdout, stderr } = demo("--backend", absent.name);
      expect(status).toBe(1);
      expect(stderr).toContain(absent.reason);
      expect(stdout).toBe("");
    });
});
