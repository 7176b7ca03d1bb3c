// Commands that read and write files: convert, inspect, entropy, reward, report, demo; and what a run leaves behind.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { readAllRollouts, readTensors, writeTensors } from "../../lib/io";
import { logprob } from "../../lib";
import { Stopped } from "../../lib/cli/shell/host";
import { Outputs } from "../../lib/cli/shell/outputs";
import { documentOf, jsonl, surprisal, temporaryFolder } from "./in-process";
import { records, recordText } from "./records";

const folder = temporaryFolder();

describe("outputs", () => {
  test("keep the old file until all are whole, then replace it with its permissions", async () => {
    const target = folder.file("kept.txt", "old");
    chmodSync(target, 0o640);
    const outputs = new Outputs();
    const temporary = await outputs.add(target);
    folder.file(temporary.split("/").at(-1)!, "new");
    expect(readFileSync(target, "utf8")).toBe("old");
    await outputs.commit();
    expect(readFileSync(target, "utf8")).toBe("new");
    expect(statSync(target).mode & 0o777).toBe(0o640);
    expect(existsSync(temporary)).toBe(false);
  });

  test("leave nothing when they are given up, and write through a link", async () => {
    mkdirSync(folder.path("sub"));
    const real = folder.file("sub/real.txt", "old");
    symlinkSync(real, folder.path("link.txt"));
    const given = new Outputs();
    await given.add(folder.path("link.txt"));
    await given.discard();
    expect(readdirSync(folder.path("sub"))).toEqual(["real.txt"]);
    const outputs = new Outputs();
    const temporary = await outputs.add(folder.path("link.txt"));
    expect(temporary).toContain("/sub/");
    await outputs.commit();
    expect(readFileSync(real, "utf8")).toBe("");
  });

  test.each([
    ["a folder", "sub", "it is a folder"],
    ["a folder that is not there", "nowhere/out.txt", "there is no folder"],
  ])("refuse %s before any work", async (_, name, text) => {
    await expect(new Outputs().add(folder.path(name))).rejects.toMatchObject({
      code: "ERR_SURPRISAL_FILE",
      message: expect.stringContaining(text) as string,
    });
  });
});

test("a command that fails leaves neither its output nor anything else", async () => {
  mkdirSync(folder.path("clean"));
  const input = folder.file(
    "clean/in.jsonl",
    jsonl([
      { group: "a", token_ids: [1], reward: 1 },
      { group: "a", token_ids: [2] },
    ]),
  );
  const { code } = await surprisal([
    "advantages",
    input,
    "-e",
    "grpo",
    "--out",
    folder.path("clean/out.jsonl"),
    "--report",
    folder.path("clean/out.html"),
  ]);
  expect(code).toBe(1);
  expect(readdirSync(folder.path("clean"))).toEqual(["in.jsonl"]);
});

test("a stop between two steps of the work ends with its code, says so and leaves nothing", async () => {
  const controller = new AbortController();
  mkdirSync(folder.path("stopped"));
  const input = folder.file("stopped/in.jsonl", recordText(1));
  async function* silent(): AsyncGenerator<string> {
    yield readFileSync(input, "utf8");
    controller.abort(new Stopped("stopped by SIGINT; nothing was written", 130));
    await new Promise(() => undefined); // the pipe stays open
  }
  const outcome = await surprisal(["convert", "-", folder.path("stopped/out.jsonl")], {
    signal: controller.signal,
    stdin: silent(),
  });
  expect(outcome).toEqual({
    code: 130,
    stdout: "",
    stderr: "surprisal convert: stopped by SIGINT; nothing was written\n",
  });
  expect(readdirSync(folder.path("stopped"))).toEqual(["in.jsonl"]);
});

test.each(["jsonl.gz", "parquet", "npz", "safetensors"])(
  "convert to .%s and back gives the same rollouts",
  async (ending) => {
    const input = folder.file("convert.jsonl", recordText(2));
    const [middle, back] = [folder.path(`middle.${ending}`), folder.path("back.jsonl")];
    expect((await surprisal(["convert", input, middle])).code).toBe(0);
    const outcome = await surprisal(["convert", middle, back, "--json"]);
    expect((documentOf(outcome) as { output: { rollouts: number } }).output.rollouts).toBe(12);
    const of = async (file: string) => (await readAllRollouts(file)).rollouts;
    expect(await of(back)).toEqual(await of(input));
  },
);

test("--map, --group-by and --reward-weight say where rewards and groups stand; inspect says what it read", async () => {
  const rows = [0, 1, 2, 3].map((i) => ({
    input: "p",
    output: `o${i}`,
    grade: i,
    style: i % 2,
    uid: `u${i >> 1}`,
    half: i >> 1,
  }));
  const input = folder.file("named.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
  const bare = await surprisal(["inspect", input]);
  expect(bare.stdout).not.toContain("reward");
  const one = await surprisal(["inspect", input, "--map", "reward=grade", "--group-by", "uid"]);
  expect(one.stdout).toContain("reward read from grade\n");
  expect(one.stdout).toContain("4 rollouts · 2 groups");
  expect(one.stdout).toContain("equal rewards 0 %");
  const equal = await surprisal(["inspect", input, "--map", "reward=half", "--group-by", "uid"]);
  expect(equal.stdout).toContain("equal rewards 100 %");
  const maps = ["--map", "rewards.grade=grade", "--map", "rewards.style=style", "--reward-weight", "style=0.5"];
  const summed = await surprisal(["inspect", input, ...maps]);
  expect(summed.stdout).toContain("reward read from grade + 0.5 style; --reward-weight NAME=NUMBER weighs them\n");
  expect(summed.stdout).toMatch(/\n {2}style +0\.5 ± 0\.577 +0 … 1 +n 4\n/);
});

test("inspect counts log-probs by who computed them, and --strict fails where they cannot be log-probs", async () => {
  const line = (logprobs: (number | string)[]) =>
    folder.file("probs.jsonl", JSON.stringify({ token_ids: [1, 2], sampler_logprobs: logprobs, reward: 1, group: 1 }));
  expect((await surprisal(["inspect", line([-1, -2])])).stdout).toMatch(
    /sampler +2 log-probs · NLL 1\.5 nats a token · least log-prob −2/,
  );
  const bad = await surprisal(["inspect", line([-1, 2]), "--strict"]);
  expect([bad.code, bad.stdout]).toEqual([1, expect.stringContaining("1 sampler log-prob is above 0")]);
  for (const logprob of ["NaN", "-Infinity", -9999]) {
    const { code, stdout } = await surprisal(["inspect", line([-1, logprob]), "--strict"]);
    expect([code, stdout]).toEqual([1, expect.stringContaining("1 sampler log-prob is not finite")]);
    expect((await surprisal(["inspect", line([-1, logprob])])).code).toBe(0);
  }
});

test("inspect says layout, fields and groups; --json has the same facts; --strict fails where something is serious", async () => {
  const input = folder.file("inspect.jsonl", recordText(3));
  const { code, stdout } = await surprisal(["inspect", input]);
  expect(code).toBe(0);
  expect(stdout).toContain("12 rollouts, jsonl, surprisal");
  expect(stdout).toMatch(/fields: group, step, token_ids, sampler_logprobs/);
  const facts = documentOf(await surprisal(["inspect", input, "--json"])) as {
    files: { fields: Record<string, number> }[];
    summary: { steps: { groups: unknown[] }[] };
  };
  expect(facts.files[0]!.fields).toMatchObject({ token_ids: 12, entropies: 12 });
  expect(facts.summary.steps[0]!.groups).toHaveLength(4);
  const equal = folder.file("equal.jsonl", jsonl([1, 1].map((reward) => ({ group: "a", token_ids: [1], reward }))));
  expect((await surprisal(["inspect", equal, "--strict"])).code).toBe(1);
  expect((await surprisal(["inspect", equal])).code).toBe(0);
});

test("entropy of rollouts is over kept tokens", async () => {
  const lines = records(4, 2, 2);
  const { batches } = documentOf(
    await surprisal(["entropy", folder.file("entropy.jsonl", jsonl(lines)), "--json"]),
  ) as { batches: { tokens: number; entropies: { mean: number } }[] };
  const kept = lines.flatMap(({ entropies, mask }) => entropies.filter((_, t) => mask[t] === 1));
  expect(batches[0]!.tokens).toBe(kept.length);
  expect(batches[0]!.entropies.mean).toBeCloseTo(kept.reduce((sum, x) => sum + x, 0) / kept.length, 12);
});

test("entropy of logits is logprob's, at a temperature, with targets", async () => {
  const data = Float32Array.of(2, 1, 0, 0, 3, 0);
  const [input, out] = [folder.path("logits.npz"), folder.path("logprobs.safetensors")];
  await writeTensors(input, {
    logits: { dtype: "float32", shape: [2, 3], data },
    ids: { dtype: "int64", shape: [2], data: BigInt64Array.of(0n, 1n) },
  });
  const outcome = await surprisal(["entropy", input, "--targets", "ids", "--temperature", "0.5", "-o", out]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  const { tensors } = await readTensors(out);
  const want = logprob(data, [0, 1], { shape: [2, 3], temperature: 0.5 });
  expect(tensors["entropies"]!.data).toEqual(want.entropies);
  expect(tensors["logprobs"]!.data).toEqual(want.logProbs);
  expect((await surprisal(["entropy", input, "--logits", "logit"])).stderr).toContain('did you mean "logits"?');
});

test("entropy of logits counts its rows over all dimensions but the last", async () => {
  const input = folder.path("cube.npz");
  await writeTensors(input, { logits: { dtype: "float32", shape: [2, 3, 4], data: new Float32Array(24) } });
  expect(documentOf(await surprisal(["entropy", input, "--json"]))).toMatchObject({
    rows: 6,
    logits: { shape: [2, 3, 4] },
    entropies: { count: 6 },
  });
});

test("colours are for a terminal, unless NO_COLOR says otherwise", async () => {
  const input = folder.file("colours.jsonl", jsonl(records(2, 2, 2)));
  const said = async (isTTY: boolean, NO_COLOR: string) =>
    (await surprisal(["report", input, "-o", folder.path("colours.html")], { isTTY, env: { NO_COLOR } })).stdout;
  expect(await said(true, "")).toContain("\u001b[");
  expect(await said(true, "1")).not.toContain("\u001b[");
  expect(await said(false, "")).not.toContain("\u001b[");
});

test("reward judges by text, and puts rewards beside others where it is asked to", async () => {
  const lines = ["so \\boxed{4}", "so \\boxed{5}"].map((text) => ({
    group: "a",
    text,
    reward: 0.5,
    meta: { answer: "4" },
  }));
  const out = folder.path("judged.jsonl");
  const outcome = await surprisal([
    "reward",
    folder.file("texts.jsonl", jsonl(lines)),
    "--scorer",
    "egpo",
    "--name",
    "math",
    "--out",
    out,
  ]);
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  const { rollouts } = await readAllRollouts(out);
  expect(rollouts.map(({ reward, rewards }) => [reward, rewards!["math"]])).toEqual([
    [0.5, 1],
    [0.5, -1],
  ]);
  const ids = folder.file("ids.jsonl", jsonl([{ group: "a", token_ids: [1] }]));
  expect((await surprisal(["reward", ids, "-s", "egpo"])).stderr).toContain("has ids and no text");
  expect((await surprisal(["reward", folder.path("texts.jsonl"), "-s", "code"])).stderr).toContain("has no tests");
});

test("reward judges while it reads: more rollouts than it holds at a time, counted and named from the first", async () => {
  const lines = Array.from({ length: 9000 }, (_, i) => ({
    id: `r${i}`,
    text: `so \\boxed{${4 + (i % 3)}}`,
    reward: Number(i % 2 === 0),
    meta: { answer: "4" },
  }));
  const [input, out] = [folder.file("many.jsonl", jsonl(lines)), folder.path("many-judged.jsonl")];
  const document = documentOf(await surprisal(["reward", input, "-s", "math", "--out", out, "--json"]));
  const facts = { rollouts: 9000, abstained: 0, agreesWithRecorded: 0.5, reasons: { equal: 3000, different: 6000 } };
  expect(document).toMatchObject({ ...facts, rewards: { count: 9000, min: 0, max: 1 } });
  const { rollouts } = await readAllRollouts(out);
  expect(rollouts.map(({ id, reward }) => [id, reward])).toEqual(lines.map(({ id }, i) => [id, Number(i % 3 === 0)]));
  expect(documentOf(await surprisal(["reward", input, "-s", "math", "--json"]))).toEqual({
    ...(document as object),
    outputs: [],
  });
  const lacking = folder.file(
    "lacking.jsonl",
    jsonl(lines.map((line, i) => (i === 8500 ? { ...line, meta: {} } : line))),
  );
  const refused = await surprisal(["reward", lacking, "-s", "math", "--out", folder.path("none.jsonl")]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("rollout 8501 has no answer")]);
  expect(existsSync(folder.path("none.jsonl"))).toBe(false);
});

test("report writes a page and prints the summary", async () => {
  const page = folder.path("page.html");
  const { code, stdout } = await surprisal([
    "report",
    folder.file("report.jsonl", recordText(5)),
    "--out",
    page,
    "--title",
    "A run",
  ]);
  expect(code).toBe(0);
  expect(stdout).toContain("12 rollouts");
  expect(readFileSync(page, "utf8")).toContain("<title>A run</title>");
});

test("the demo learns, repeats to the last bit, and its rollouts are ready for the everyday line", async () => {
  const of = async (...args: string[]) =>
    (
      documentOf(await surprisal(["demo", "--json", "--out", folder.path("demo"), ...args])) as {
        runs: { method: string; rewardStart: number; rewardEnd: number; rewards: number[] }[];
      }
    ).runs;
  const all = await of("--methods", "grpo,egpo,maxent", "--steps", "25");
  expect(all.map(({ method }) => method)).toEqual(["grpo", "egpo", "maxent"]);
  for (const { rewardStart, rewardEnd } of all) expect(rewardEnd - rewardStart).toBeGreaterThan(0.3);
  const few = await of("--methods", "empg", "--steps", "5");
  const runs = await of("--methods", "empg", "--steps", "25");
  // The best reward is 0.8; seeds 1 to 3 passed 0.5 by step 15.
  expect(runs[0]!.rewardEnd - runs[0]!.rewardStart).toBeGreaterThan(0.4);
  expect(few[0]!.rewards).toEqual(runs[0]!.rewards.slice(0, 5));
  const [rollouts, page, out] = ["empg.jsonl", "report.html", "out.parquet"].map((file) => folder.path(`demo/${file}`));
  expect(readFileSync(page!, "utf8")).toContain("empg, step 24");
  const line = await surprisal([
    "advantages",
    rollouts!,
    "--estimator",
    "empg",
    "--out",
    out!,
    "--report",
    folder.path("own.html"),
  ]);
  expect(line).toMatchObject({ code: 0, stderr: "" });
  expect((await readAllRollouts(out!)).rollouts.every(({ advantages }) => advantages)).toBe(true);
});

test("the demo shows each curve before the next run begins, and the page at the end", async () => {
  const pieces: string[] = [];
  const out = folder.path("watched");
  const { code, stdout } = await surprisal(["demo", "--methods", "grpo,empg", "--steps", "12", "--out", out], {
    onStdout(text) {
      pieces.push(text);
      // Until the end nothing stands in its place.
      expect(existsSync(`${out}/report.html`)).toBe(text.includes("wrote "));
    },
  });
  expect(code).toBe(0);
  expect(pieces.map((text) => text.trimStart().split(/\s/, 1)[0])).toEqual(["method", "grpo", "empg", "The"]);
  expect(pieces[1]).toMatch(/^grpo {4}[▁▂▃▄▅▆▇█]{12} /);
  expect(stdout).toContain(`wrote ${out}/report.html\n`);
  expect(readdirSync(out).sort()).toEqual(["empg.jsonl", "grpo.jsonl", "report.html"]);
});

test("bench measures every backend that was asked for, within the error that float32 has", async () => {
  const { results } = documentOf(
    await surprisal(["bench", "--small", "--backends", "js", "--seconds", "0.01", "--json"]),
  ) as { results: { case: string; backend: string; error: number; median: number }[] };
  expect(results.map((result) => [result.case, result.backend])).toEqual([
    ["logprob", "js"],
    ["gae", "js"],
    ["groupNormalize", "js"],
  ]);
  for (const { error, median } of results) {
    expect(error).toBeLessThan(1e-6);
    expect(median).toBeGreaterThan(0);
  }
});
