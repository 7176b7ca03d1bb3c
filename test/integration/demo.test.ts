// The demo as a user starts it, and the same training on two backends.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { METHOD_NAMES, type MethodName } from "../../examples/demo/methods";
import { startJax } from "../../examples/demo/policy";
import type { RolloutRecord } from "../../examples/demo/records";
import { train } from "../../examples/demo/train";
import { backendInfo, type BackendName } from "../../lib";

const { backends } = backendInfo();
const root = join(__dirname, "..", "..");
const TSX = join(root, "node_modules", "tsx", "dist", "cli.mjs");
const MINUTE = 60_000;

function demo(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [TSX, join("examples", "demo", "main.ts"), ...args], {
    cwd: root,
    encoding: "utf8",
    timeout: 2 * MINUTE,
  });
  return { status, stdout, stderr };
}

interface Output {
  readonly backend: { readonly selected: string };
  readonly rollouts: string;
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

describe("GRPO with an entropy term, three seeds, 250 steps", () => {
  let output: Output;
  let records: RolloutRecord[];
  let stderr: string;

  beforeAll(() => {
    const result = demo("--steps", "250", "--methods", "grpo-entropy", "--json", "--out", folder);
    if (result.status !== 0) throw new Error(`the demo ended with ${result.status}\n${result.stderr}`);
    stderr = result.stderr;
    output = JSON.parse(result.stdout) as Output;
    records = readFileSync(output.rollouts, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as RolloutRecord);
  }, 2 * MINUTE);

  // Rewards lie in [-0.5, 1]. Measured rises: 0.49, 0.51, 0.35. Random answers of the right form stay where they are.
  test("reward rises by more than 0.25 on every seed", () => {
    const runs = output.methods[0]!.runs;
    expect(runs.map(({ seed }) => seed)).toEqual([1, 2, 3]);
    for (const { rewardStart, rewardEnd } of runs) expect(rewardEnd - rewardStart).toBeGreaterThan(0.25);
  });

  test("it says which backend ran, and how far it is", () => {
    expect(stderr).toContain(`surprisal runs on ${output.backend.selected}`);
    expect(stderr).toMatch(/grpo-entropy seed \d: step \d+\/250, reward/);
  });

  test("rollouts of the first, every hundredth and the last step are canonical records of agreeing length", () => {
    expect(records).toHaveLength(3 * 4 * 128);
    expect(new Set(records.map(({ meta }) => meta.step))).toEqual(new Set([0, 100, 200, 249]));
    for (const record of records) {
      expect(Object.keys(record)).toEqual([
        ...["group", "prompt_ids", "token_ids", "logprobs", "old_logprobs", "entropy", "mask", "reward", "finish_reason", "meta"],
      ]);
      const { token_ids: ids, logprobs, old_logprobs: old, entropy, mask } = record;
      expect(record.prompt_ids).toHaveLength(4);
      expect([logprobs, old, entropy, mask].map(({ length }) => length)).toEqual(Array(4).fill(ids.length));
      for (const values of [logprobs, old]) expect(values.every((value) => value <= 0)).toBe(true);
      expect(entropy.every((value) => value >= 0 && value <= Math.log(8))).toBe(true);
      expect(mask.every((flag) => flag === 1)).toBe(true);
    }
  });

  test("sampler and trainer agree on the log-prob of every token", () => {
    // The same float32 network, evaluated for one position and for a whole batch: sums may be ordered differently.
    for (const { logprobs, old_logprobs: old } of records) expect(logprobs).toBeAllClose(old, { rtol: 1e-5, atol: 1e-5 });
  });

  test("rewards are what another reading of the response gives", () => {
    for (const { reward, finish_reason: reason, meta } of records) {
      const [a, b, c, d, modulus] = meta.problem.match(/\d+/g)!.map(Number);
      const right = [a! + b!, (a! + b!) * c!, (a! + b!) * c! + d!].map((value) => value % modulus!);
      const steps = [...meta.response.matchAll(/<step> (.*?)<\/step>/g)].map((match) => match[1]!.trim());
      const answer = /<answer> (.*?)<\/answer>/.exec(meta.response)?.[1]?.trim();
      const given = [steps[0], steps[1], answer];
      const form = given.filter((text) => /^\d$/.test(text ?? "")).length;
      const worked = [0, 1].filter((i) => given[i] === String(right[i])).length;
      expect(reward).toBeCloseTo(0.1 * (form + worked) + (answer === String(right[2]) ? 0.5 : -0.5), 12);
      expect(reason).toBe(meta.response.endsWith("</answer>") ? "stop" : "length");
    }
  });
});

describe("the first 50 steps on js and on cpu", () => {
  const cpu = backends.find(({ name }) => name === "cpu");
  const SEED = 2;

  function trajectory(method: MethodName, backend: BackendName) {
    const tokens: Int32Array[] = [];
    const rewards: Float64Array[] = [];
    const parameters = train({ method, seed: SEED, steps: 50, backend }, ({ batch }) => {
      tokens.push(batch.tokens);
      rewards.push(batch.rewards);
    });
    return { tokens, rewards, parameters };
  }

  if (!cpu?.available) {
    test.skip(`cpu is not available: ${cpu?.reason ?? "no reason given"}`, () => undefined);
    return;
  }

  beforeAll(startJax);

  test.each(METHOD_NAMES)(
    "%s: the same tokens and rewards, nearly the same parameters",
    (method) => {
      const js = trajectory(method, "js");
      const native = trajectory(method, "cpu");
      expect(native.tokens).toEqual(js.tokens);
      expect(native.rewards).toEqual(js.rewards);
      // Adam divides by the gradient's own size, so it enlarges noise in small ones: relative noise of 2e-7 on every
      // element of the logits' gradient moved a parameter by up to 3.3e-5 within 50 steps of this seed.
      expect(native.parameters).toBeAllClose(js.parameters, { rtol: 0, atol: 1e-4 });
    },
    MINUTE,
  );
});

test("a run on the same backend repeats to the last bit", async () => {
  await startJax();
  const run = () => train({ method: "egpo", seed: 7, steps: 10, backend: "js" }, () => undefined);
  expect(run()).toEqual(run());
});

describe("the command line", () => {
  test("prints a table with a line a method", () => {
    const { status, stdout } = demo("--steps", "2", "--seeds", "1,2", "--out", folder);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^method +reward start +end +spread +against GRPO +right answers +entropy +steps\/s$/m);
    for (const title of ["GRPO", "GRPO \\+ entropy term", "EMPG", "EGPO", "MaxEnt weights"])
      expect(stdout).toMatch(new RegExp(`^${title} +-?\\d\\.\\d\\d +-?\\d\\.\\d\\d +\\d\\.\\d\\d`, "m"));
  });

  test("--help lists the options", () => {
    const { status, stdout } = demo("--help");
    expect(status).toBe(0);
    for (const option of ["--steps", "--seeds", "--methods", "--backend", "--out", "--json"]) expect(stdout).toContain(option);
  });

  test.each([
    [["--stepz", "3"], "--stepz"],
    [["--steps", "none"], "--steps"],
    [["--methods", "grpo,ppo"], "ppo"],
    [["--seeds", "1,1"], "--seeds"],
    [["--backend", "tpu"], "tpu"],
  ])("%j is refused with exit code 2", (args, named) => {
    const { status, stdout, stderr } = demo(...args);
    expect(status).toBe(2);
    expect(stderr).toContain(named);
    expect(stdout).toBe("");
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
