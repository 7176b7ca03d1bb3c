import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { distFile } from "../support/dist";
import fc from "fast-check";
import * as s from "../../lib";
import { rng } from "../support/rng";

const KINDS = { weights: "maxent", penalty: "kl", bonus: "entropyCoefficient", rewards: "runningMoments" } as const;
type States = s.StatesOf<typeof KINDS>;

const dist = distFile();
const fixture = (name: string): string => join(__dirname, "fixtures", name);

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "surprisal-controllers-"));
  path = join(folder, "controllers.json");
});
afterEach(() => rmSync(folder, { recursive: true }));

function fresh(): States {
  return {
    weights: s.maxentController({ tau: 0.5, beta: 0.25 }),
    penalty: s.klController(0.1),
    bonus: s.entropyCoefficient(0.01),
    rewards: s.NO_MOMENTS,
  };
}

/** Some steps of a run: what is measured depends on the state. */
function steps(states: States, from: number, to: number): States {
  let { weights, penalty, bonus, rewards } = states;
  for (let step = from; step < to; ++step) {
    const r = rng(step);
    const [noise, kl] = r.f64(2, 0, 0.1) as unknown as [number, number];
    weights = s.updateMaxentTau(
      weights,
      { entropy: 2 - 1 / (0.5 + weights.tau) + noise, step },
      { target: 1.2, learningRate: 0.02, max: 5 },
    );
    weights = s.updateMaxentBeta(
      weights,
      { kl: kl / (0.1 + weights.beta) },
      { target: 0.1, horizon: 50, stepSize: 0.2 },
    );
    penalty = s.updateKlController(penalty, { kl: kl + 0.06, steps: 16 }, { target: 0.1, horizon: 1000 });
    bonus = s.updateEntropyCoefficient(bonus, 0.15 + noise);
    rewards = s.updateRunningMoments(rewards, r.f64(3, -1, 2)).moments;
  }
  return { weights, penalty, bonus, rewards };
}

const refusal = (call: () => unknown): s.SurprisalError => {
  try {
    call();
  } catch (error) {
    if (error instanceof s.SurprisalError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
};

test("a run of 2000 steps that is saved and loaded in the middle ends with the same bits", () => {
  const middle = steps(fresh(), 0, 1000);
  s.saveControllers(path, KINDS, middle);
  const loaded = s.loadControllers(path, KINDS)!;
  expect(loaded).toEqual(middle);
  expect(steps(loaded, 1000, 2000)).toEqual(steps(middle, 1000, 2000));
});

test("every number comes back, NaN, infinities and −0 too", () => {
  const any = fc.oneof(fc.double(), fc.constantFrom(NaN, Infinity, -Infinity, -0, 5e-324, 1.7976931348623157e308));
  const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(any, any, finite, fc.option(finite), (mean, m2, coefficient, lastEntropy) => {
      const states = { ...fresh(), rewards: { count: 3, mean, m2 }, bonus: { coefficient, lastEntropy } };
      const text = s.serializeControllers(KINDS, states);
      expect(s.parseControllers(text, KINDS)).toEqual(states);
      expect(() => JSON.parse(text) as unknown).not.toThrow();
    }),
  );
});

test("a missing file says so", () => {
  expect(s.loadControllers(join(folder, "none.json"), KINDS)).toBeNull();
});

test("a bare file name is a file in the working directory; folders are made", () => {
  const program = `const s = require(${JSON.stringify(dist)});
    s.saveControllers("bare.json", { a: "kl" }, { a: s.klController(0.5) });
    console.log(s.loadControllers("bare.json", { a: "kl" }).a.coefficient);`;
  expect(spawnSync(process.execPath, ["-e", program], { cwd: folder, encoding: "utf8" }).stdout).toBe("0.5\n");
  expect(existsSync(join(folder, "bare.json"))).toBe(true);
  s.saveControllers(join(folder, "a", "b", "c.json"), { a: "kl" }, { a: s.klController(1) });
  expect(s.loadControllers(join(folder, "a", "b", "c.json"), { a: "kl" })).toEqual({ a: { coefficient: 1 } });
});

test("a file that is cut off anywhere is refused, with the position", () => {
  const text = s.serializeControllers(KINDS, steps(fresh(), 0, 3));
  for (let length = 0; length < text.trimEnd().length; ++length) {
    const error = refusal(() => s.parseControllers(text.slice(0, length), KINDS));
    expect(error.code).toBe("ERR_SURPRISAL_FILE");
    expect(error.message).toMatch(
      /^parseControllers: character \d+ of \d+ is ".*", expected JSON; the file is cut off or damaged$/s,
    );
  }
});

/** The text of a good file with one value replaced. */
function damaged(way: readonly string[], value: unknown): string {
  const file = JSON.parse(s.serializeControllers(KINDS, fresh())) as Record<string, unknown>;
  const parent = way.slice(0, -1).reduce((record, name) => record[name] as Record<string, unknown>, file);
  parent[way.at(-1)!] = value; // JSON leaves out what is undefined
  return JSON.stringify(file);
}

test.each<[string, unknown]>([
  ["format", "other"],
  ["version", 2],
  ["version", 0],
  ["controllers", []],
  ["controllers.weights", undefined],
  ["controllers.weights.kind", "kl"],
  ["controllers.weights.version", 2],
  ["controllers.weights.version", "1"],
  ["controllers.weights.state", null],
  ["controllers.weights.state.tau", -1],
  ["controllers.weights.state.tau", "NaN"],
  ["controllers.weights.state.tau", true],
  ["controllers.weights.state.tau", "0.5"],
  ["controllers.weights.state.beta", undefined],
  ["controllers.weights.state.logTau", "Infinity"],
  ["controllers.weights.state.meta.method", 7],
  ["controllers.weights.state.meta.updateInterval", 0],
  ["controllers.weights.state.meta.enabled", 1],
  ["controllers.weights.state.meta.optimizer", "sgd"],
  ["controllers.weights.state.foreign", 1],
  ["controllers.weights.state.extra", 1],
  ["controllers.penalty.state.coefficient", "NaN"],
  ["controllers.bonus.state.lastEntropy", []],
  ["controllers.rewards.state.count", -1],
])("%s = %p is refused by name, and nothing is loaded", (name, value) => {
  writeFileSync(path, damaged(name.split("."), value));
  const error = refusal(() => s.loadControllers(path, KINDS));
  expect(error).toMatchObject({ code: "ERR_SURPRISAL_FILE", details: { name } });
  expect(error.message).toContain(path);
});

test("a newer version says what to do", () => {
  const error = refusal(() => s.parseControllers(damaged(["controllers", "penalty", "version"], 3), KINDS));
  expect(error.message).toBe(
    "parseControllers: controllers.penalty.version is 3, expected at most 1: a newer surprisal wrote this, load it with that one",
  );
});

test.each(["[1, 2]", "null", "7", '"text"'])("%s is JSON and no file of controllers", (text) => {
  expect(refusal(() => s.parseControllers(text, KINDS)).message).toMatch(
    /^parseControllers: the content is .*, expected an object$/,
  );
});

test("what no file may hold is refused before anything is written", () => {
  s.saveControllers(path, KINDS, fresh());
  const before = readFileSync(path, "utf8");
  for (const tau of [-1, NaN, Infinity]) {
    const error = refusal(() => s.saveControllers(path, KINDS, { ...fresh(), weights: { ...fresh().weights, tau } }));
    expect(error).toMatchObject({ code: "ERR_SURPRISAL_OPTION", details: { name: "states.weights.tau" } });
  }
  expect(refusal(() => s.saveControllers(path, { a: "what" as "kl" }, { a: { coefficient: 1 } })).details.name).toBe(
    "kinds.a",
  );
  expect(refusal(() => s.saveControllers("", KINDS, fresh())).details.name).toBe("path");
  expect(refusal(() => s.saveControllers(undefined as never, KINDS, fresh())).details.name).toBe("path");
  expect(readFileSync(path, "utf8")).toBe(before);
  expect(readdirSync(folder)).toEqual(["controllers.json"]);
});

test("a path of null is no file: nothing is written, nothing is read, and states are still checked", () => {
  s.saveControllers(null, KINDS, fresh());
  expect(readdirSync(folder)).toEqual([]);
  expect(s.loadControllers(null, KINDS)).toBeNull();
  const wrong = { ...fresh(), penalty: { coefficient: NaN } };
  expect(refusal(() => s.saveControllers(null, KINDS, wrong)).details.name).toBe("states.penalty.coefficient");
});

test("files of version 1 load", () => {
  const loaded = s.loadControllers(fixture("controllers-version-1.json"), KINDS)!;
  expect(loaded.weights).toMatchObject({
    tau: 0.30000000000000004,
    beta: 0.125,
    logTau: -1.2039728043259359,
    entropyAverage: 0.95,
  });
  expect(loaded.weights.meta).toMatchObject({
    enabled: true,
    method: "first_order",
    updateInterval: 4,
    lastTauGradient: 0.02,
    tauProjected: false,
  });
  expect(Object.is(loaded.weights.meta.lastBetaGradient, -0)).toBe(true);
  expect(loaded.penalty).toEqual({ coefficient: 0.1 });
  expect(loaded.bonus).toEqual({ coefficient: 0.005, lastEntropy: null });
  expect(loaded.rewards).toEqual({ count: 12, mean: NaN, m2: Infinity });
});

test.each([5, "", undefined, ["controllers.json"]])("the name of a file that is %p is refused", (given) => {
  const wanted = /: path is .*, expected the name of a file, or null for none/;
  expect(() => s.saveControllers(given as string, KINDS, fresh())).toThrow(wanted);
  expect(() => s.loadControllers(given as string, KINDS)).toThrow(wanted);
});

test("files of maxent-grpo keep the logarithm that they have; without one it is that of tau", () => {
  const kinds = { weights: "maxent" } as const;
  const logOf = (log: object) =>
    s.parseControllers(JSON.stringify({ tau: 0.25, beta: 0, ...log }), kinds).weights.logTau;
  expect(logOf({ tau_log: -1.5 })).toBe(-1.5);
  expect(logOf({})).toBe(Math.log(0.25));
});

test("files of maxent-grpo load, with the NaN that Python writes, and are written", () => {
  const kinds = { weights: "maxent" } as const;
  const { weights } = s.loadControllers(fixture("maxent-grpo.json"), kinds)!;
  expect(weights).toMatchObject({ tau: 0.25, beta: 0.125, logTau: -1.3862943611198906, entropyAverage: null });
  expect(weights.meta).toMatchObject({
    method: "potential",
    lastBetaGradient: -0.03,
  });
  expect(weights.foreign).toMatchObject({ objective: 'NaN, "quoted"', analytic_steps: 2, truncation_steps: 3 });
  expect(s.loadControllers(fixture("maxent-grpo.json"), kinds, { preset: "maxent" })!.weights.entropyAverage).toBe(
    0.25,
  );
  s.saveControllers(path, kinds, { weights }, { layout: "coefficients" });
  expect(s.loadControllers(path, kinds)).toEqual({ weights });
  expect(s.parseControllers(s.serializeControllers(kinds, { weights }), kinds)).toEqual({ weights });
  const record = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  expect(record).toMatchObject({
    beta: 0.125,
    tau: 0.25,
    tau_entropy_ema: null,
    meta: { version: 1, controller: { beta_grad_clip: 0.5, objective: 'NaN, "quoted"' } },
  });
  expect(refusal(() => s.loadControllers(path, KINDS)).details.name).toBe("kinds");
  for (const text of [
    '{"tau": -1, "beta": 0.25}',
    '{"tau": NaN, "beta": 0.25}',
    '{"tau": true, "beta": 0.25}',
    '{"tau": 1}',
  ])
    expect(refusal(() => s.parseControllers(text, kinds)).code).toBe("ERR_SURPRISAL_FILE");
});

test("controllers that are not asked for are passed over", () => {
  s.saveControllers(path, KINDS, fresh());
  expect(s.loadControllers(path, { penalty: "kl" })).toEqual({ penalty: { coefficient: 0.1 } });
});

test("a folder in the place of the file, or a file in the place of the folder, is an error that says so", () => {
  mkdirSync(path);
  expect(refusal(() => s.loadControllers(path, KINDS)).details).toMatchObject({ name: "path", got: "a folder" });
  expect(refusal(() => s.saveControllers(path, KINDS, fresh())).code).toBe("ERR_SURPRISAL_FILE");
  expect(readdirSync(folder)).toEqual(["controllers.json"]);
  writeFileSync(join(folder, "file"), "");
  expect(refusal(() => s.saveControllers(join(folder, "file", "x.json"), KINDS, fresh())).code).toBe(
    "ERR_SURPRISAL_FILE",
  );
});

// Whoever may do anything is not refused: root gives its rights away first.
test("a folder without the right to write, and a file without the right to read, are errors that say so", () => {
  s.saveControllers(path, { a: "kl" }, { a: s.klController(1) });
  chmodSync(path, 0);
  chmodSync(folder, 0o555);
  const program = `const s = require(${JSON.stringify(dist)});
    if (process.getuid() === 0) { process.setgid(65534); process.setuid(65534); }
    const path = ${JSON.stringify(path)};
    for (const call of [() => s.saveControllers(path, { a: "kl" }, { a: s.klController(2) }), () => s.loadControllers(path, { a: "kl" })])
      try { call(); console.log("nothing was refused"); } catch (error) { console.log(error.code, error.details.got); }`;
  const { stdout, stderr } = spawnSync(process.execPath, ["-e", program], { encoding: "utf8" });
  chmodSync(folder, 0o755);
  chmodSync(path, 0o644);
  expect({ stdout, stderr }).toEqual({ stdout: "ERR_SURPRISAL_FILE EACCES\nERR_SURPRISAL_FILE EACCES\n", stderr: "" });
  expect(s.loadControllers(path, { a: "kl" })).toEqual({ a: { coefficient: 1 } });
});

test("with three writers at once a reader always finds a whole file, and no temporary one stays", async () => {
  const kinds = { a: "kl", b: "runningMoments" } as const;
  const program = `const { workerData: { path, n } } = require("node:worker_threads");
    const s = require(${JSON.stringify(dist)});
    for (let i = 0; i < 60; ++i) s.saveControllers(path, { a: "kl", b: "runningMoments" }, { a: s.klController(n), b: { count: n, mean: n, m2: n } });`;
  s.saveControllers(path, kinds, { a: s.klController(0), b: s.NO_MOMENTS });
  let running = 3;
  const ends = [1, 2, 3].map(
    (n) =>
      new Promise<void>((done, fail) => {
        new Worker(program, { eval: true, workerData: { path, n } }).on("error", fail).on("exit", () => {
          --running;
          done();
        });
      }),
  );
  let reads = 0;
  while (running > 0 || reads < 4) {
    const { a, b } = s.loadControllers(path, kinds)!;
    expect(b).toEqual({ count: a.coefficient, mean: a.coefficient, m2: a.coefficient });
    ++reads;
    await new Promise((next) => setImmediate(next));
  }
  await Promise.all(ends);
  expect(readdirSync(folder)).toEqual(["controllers.json"]);
});
