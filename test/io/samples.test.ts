// A sample of each dialect and layout, read without saying which it is.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Dialect, readAllRollouts, type ReadReport, readTensors, type Rollout, writeRollouts } from "surprisal/io";

const sample = (name: string): string => join(__dirname, "samples", name);

async function read(name: string, dialect: Dialect): Promise<{ rollouts: Rollout[]; report: ReadReport }> {
  const result = await readAllRollouts(sample(name));
  expect(result.report.dialect).toBe(dialect);
  expect(result.report.cutOff).toBeUndefined();
  return result;
}

const kinds = ({ warnings }: ReadReport): string[] => warnings.map(({ kind }) => kind);

test("verl: text, score and extras; grouped by identical input; no ids, and it says so", async () => {
  const { rollouts, report } = await read("verl.jsonl", "verl");
  expect(rollouts).toHaveLength(4);
  expect(rollouts[0]).toEqual({
    group: rollouts[1]!.group,
    step: 7,
    prompt: "user\n2+2=?\nassistant\n",
    text: "It is 4.",
    reward: 1,
    rewards: { overlong_reward: 0 },
    meta: { gts: "4", acc: true },
  });
  expect(rollouts[2]!.group).not.toBe(rollouts[0]!.group);
  expect(rollouts[3]).toMatchObject({ text: "grün", reward: NaN });
  expect(kinds(report)).toEqual(["no-token-ids"]);
});

test("trl: a Parquet row each, numeric columns are rewards, one that abstains is absent", async () => {
  const { rollouts, report } = await read("trl.parquet", "trl");
  expect(rollouts.map(({ rewards }) => rewards)).toEqual([
    { accuracy_reward: 1, format_reward: 0.5 },
    { accuracy_reward: 0, format_reward: 0.5 },
    { format_reward: 1 },
    { format_reward: 0 },
  ]);
  expect(rollouts[1]).toMatchObject({ step: 12, prompt: "What is 2+2?", text: "5", advantage: -0.70710678 });
  expect(rollouts[0]!.group).toBe(rollouts[1]!.group);
  expect(kinds(report)).toEqual(["no-token-ids"]);
});

test.each([
  ["trl-two-rewards.parquet", ["length_reward", "sum_reward"], 4],
  ["trl-one-reward.parquet", ["length_reward"], 0],
  ["trl-chat-extras.parquet", ["length_reward", "noted_sum_reward", "length"], 3],
])("%s, written by TRL 1.13: a reward is the sum of what did not abstain", async (name, functions, abstained) => {
  const { rollouts, report } = await read(name, "trl");
  expect(rollouts).toHaveLength(8);
  const lacking = rollouts.filter(({ rewards }) => Object.keys(rewards!).length < functions.length);
  expect(lacking).toHaveLength(abstained);
  expect(report.rewardFrom).toBe(functions.join(" + "));
  for (const { reward, rewards, advantage, group, text } of rollouts) {
    const known = Object.values(rewards!);
    expect(Object.keys(rewards!).every((key) => functions.includes(key))).toBe(true);
    expect(reward).toBe(known.reduce((sum, one) => sum + one));
    expect([typeof advantage, typeof text]).toEqual(["number", "string"]);
    expect(group).toMatch(/^prompt-/);
  }
});

test("trl: a column that is logged beside the rewards is left out of them by its weight", async () => {
  const options = { rewardWeights: { length: 0 } };
  const { rollouts, report } = await readAllRollouts(sample("trl-chat-extras.parquet"), options);
  expect(report.rewardFrom).toBe("length_reward + noted_sum_reward + 0 length");
  expect(rollouts[1]).toMatchObject({
    prompt: "system\nAnswer with a number.\nuser\n1+1=\nassistant\n",
    text: "7.",
    reward: Math.fround(-0.2),
    rewards: { length_reward: Math.fround(-0.2), noted_sum_reward: 0, length: 2 },
    meta: { right: "2" },
  });
});

test.each(["serve-chat.json", "serve-completions.json"])(
  "%s, an answer of transformers serve that leaves out the log-probs: text, and it says so",
  async (name) => {
    const { rollouts, report } = await readAllRollouts(sample(name));
    expect(report.dialect).toBe(name === "serve-chat.json" ? "openai-chat" : "openai-completions");
    expect(rollouts[0]!.text!.length).toBeGreaterThan(0);
    expect(rollouts[0]).not.toHaveProperty("samplerLogProbs");
    expect(kinds(report)).toEqual(["no-token-ids"]);
  },
);

test("trl-server: completions of a prompt share a group, the sampled token's log-prob is found among the k", async () => {
  const { rollouts } = await read("trl-server.jsonl", "trl-server");
  expect(rollouts.map(({ tokenIds }) => Array.from(tokenIds!))).toEqual([
    [19, 151645],
    [20],
    [12203],
    [12203, 13, 151645],
  ]);
  expect(Array.from(rollouts[1]!.samplerLogProbs!)).toEqual([-2.5]);
  expect(Array.from(rollouts[3]!.samplerLogProbs!)).toEqual([-0.7, -0.2, NaN]);
  expect(Array.from(rollouts[1]!.topK!.ids!)).toEqual([19, 17, 20]);
  expect(Array.from(rollouts[3]!.topK!.offsets)).toEqual([0, 2, 4, 6]);
  expect(rollouts[0]!.group).toBe(rollouts[1]!.group);
  expect(rollouts[2]!.group).toBe(rollouts[3]!.group);
  expect(rollouts[2]!.group).not.toBe(rollouts[0]!.group);
});

describe("llama.cpp's server", () => {
  test("chat: a rollout per choice, with texts and ids of tokens; its count is of the first choice", async () => {
    const { rollouts, report } = await read("llama-chat.jsonl", "openai-chat");
    expect(rollouts).toHaveLength(6);
    const [first] = rollouts;
    expect(first).toMatchObject({
      group: first!.id!.replace("#0", ""),
      text: "0 😀.",
      tokens: ["0", " 😀.", ""],
      tokenIds: Int32Array.of(18, 263, 2),
      samplerLogProbs: Float64Array.of(-2.493788003921509, -1.2989771366119385, -0.019050367176532745),
      finishReason: "stop",
    });
    expect(Array.from(first!.topK!.offsets)).toEqual([0, 3, 6, 9]);
    expect(first!.topK!.tokens!.slice(0, 4)).toEqual(["5", "6", "7", "."]);
    expect(Array.from(first!.topK!.ids!.subarray(0, 4))).toEqual([23, 24, 25, 16]);
    expect(rollouts.map(({ group }) => group === first!.group)).toEqual([true, true, true, false, false, false]);
    expect(report.warnings).toEqual([]);
  });

  test("completions have the log-probs of chats", async () => {
    const { rollouts, report } = await read("llama-completions.jsonl", "openai-completions");
    expect(rollouts.map(({ text }) => text)).toEqual(["0 😀.", "9.", "2.", "11.", "8.", "."]);
    for (const { text, tokens, tokenIds, samplerLogProbs } of rollouts) {
      expect(tokens!.join("")).toBe(text);
      expect([tokenIds!.length, tokenIds!.at(-1)]).toEqual([samplerLogProbs!.length, 2]);
    }
    expect(report.warnings).toEqual([]);
  });

  test.each([
    ["llama-chat-log.jsonl", "openai-chat", '[{"role":"user","content":"2+3="}]'],
    ["llama-completions-log.jsonl", "openai-completions", "2+3="],
  ] as const)("%s: requests and rewards per choice", async (name, dialect, prompt) => {
    const { rollouts } = await read(name, dialect);
    expect(rollouts.map(({ step, prompt: own, reward }) => [step, own === prompt, reward])).toEqual([
      ...[0, 0, 0].map((reward) => [0, true, reward]),
      ...[0, Number(rollouts[4]!.text!.startsWith("9")), 0].map((reward) => [1, false, reward]),
    ]);
    expect(new Set(rollouts.map(({ group }) => group)).size).toBe(2);
  });

  test.each(["chat", "completions"])(
    "%s that were streamed are refused piece by piece, with the reason",
    async (name) => {
      const events = readFileSync(join(__dirname, "..", "recordings", "openai", `llama-${name}.sse`), "utf8");
      await expect(readAllRollouts(Buffer.from(events))).rejects.toThrow(/it is an event of a streamed answer/);
      const pieces = Array.from(events.matchAll(/^data: (\{.*)$/gm), ([, piece]) => piece!);
      expect(pieces.length).toBeGreaterThan(3);
      const bytes = Buffer.from(pieces.join("\n"));
      await expect(readAllRollouts(bytes)).rejects.toThrow(/a piece of a streamed answer.*--skip-malformed/);
      const { rollouts, report } = await readAllRollouts(bytes, { malformed: "skip" });
      expect([rollouts.length, report.skipped]).toEqual([0, pieces.length]);
    },
  );
});

test("openai-chat: without ids there are texts of tokens, and it says so", async () => {
  const answer = readFileSync(sample("llama-chat.jsonl"), "utf8").replace(/"id": \d+, /g, "");
  const { rollouts, report } = await readAllRollouts(Buffer.from(answer));
  expect(rollouts[1]).not.toHaveProperty("tokenIds");
  expect(rollouts[1]).toMatchObject({ tokens: ["9", ".", ""], samplerLogProbs: { length: 3 } });
  expect(kinds(report)).toEqual(["no-token-ids"]);
});

test("openai-completions: log-probs in the older form", async () => {
  const [rollout] = (await read("openai-completions.jsonl", "openai-completions")).rollouts;
  expect(rollout).toMatchObject({ text: " a test", tokens: [" a", " test"], finishReason: "length" });
  expect(Array.from(rollout!.topK!.logProbs)).toEqual([-0.69, -1.2, -1.5, -1.6]);
});

test("a batch's output file: the answer is found in its envelope", async () => {
  const [rollout] = (await read("openai-batch.jsonl", "openai-chat")).rollouts;
  expect(rollout).toMatchObject({ text: "4", meta: { custom_id: "p7-0" } });
});

test("vllm: ids beside chat log-probs, and as token_id:123 in completions", async () => {
  const chat = (await read("vllm-chat.jsonl", "vllm")).rollouts[0]!;
  expect(Array.from(chat.tokenIds!)).toEqual([19, 151645]);
  expect(Array.from(chat.promptIds!)).toEqual([785, 220, 17]);
  expect(chat.tokens).toEqual(["4", "<|im_end|>"]);
  const { rollouts, report } = await read("vllm-completions.jsonl", "vllm");
  expect(rollouts.map(({ tokenIds }) => Array.from(tokenIds!))).toEqual([[19], [20]]);
  expect(Array.from(rollouts[1]!.topK!.ids!)).toEqual([19, 20]);
  // The same prompt ids make the same group, whichever interface gave them.
  expect(new Set([chat, ...rollouts].map(({ group }) => group)).size).toBe(1);
  expect(report.warnings).toEqual([]);
});

test("sglang: one answer a line, or a list of them", async () => {
  const { rollouts } = await read("sglang.jsonl", "sglang");
  expect(rollouts).toHaveLength(3);
  expect(rollouts[0]).toMatchObject({
    id: "a1b2",
    text: " 4",
    finishReason: "stop",
    meta: { weight_version: "default" },
  });
  expect(Array.from(rollouts[0]!.tokenIds!)).toEqual([220, 19]);
  expect(Array.from(rollouts[0]!.promptIds!)).toEqual([785, 30]);
  expect(Array.from(rollouts[0]!.topK!.offsets)).toEqual([0, 2, 2]);
  expect(rollouts[1]).toMatchObject({ tokens: ["x"], finishReason: "length" });
  expect(rollouts[2]).not.toHaveProperty("finishReason");
});

test("our own spelling", async () => {
  const { rollouts } = await read("surprisal.jsonl", "surprisal");
  expect(rollouts[0]).toEqual({
    group: "p0",
    step: 3,
    promptIds: Int32Array.of(1, 2),
    tokenIds: Int32Array.of(5, 6, 7),
    samplerLogProbs: Float64Array.of(-0.5, -0.25, -1),
    recomputedLogProbs: Float64Array.of(-0.5, -0.26, -1),
    topK: {
      offsets: Int32Array.of(0, 2, 3, 3),
      logProbs: Float64Array.of(-0.5, -1.5, -0.25),
      ids: Int32Array.of(5, 9, 6),
    },
    mask: Uint8Array.of(1, 0, 1),
    reward: 1,
    finishReason: "stop",
    meta: { seed: 4 },
  });
  expect(rollouts[1]).toMatchObject({ tokenIds: new Int32Array(0), reward: -Infinity });
});

test("a numpy archive with padded arrays, and a safetensors file with packed ones", async () => {
  const { rollouts } = await read("padded.npz", "surprisal");
  expect(
    rollouts.map(({ tokenIds, mask, reward, group }) => [tokenIds!.length, Array.from(mask!), reward, group]),
  ).toEqual([
    [3, [1, 1, 1], 1, 4],
    [2, [1, 1], 0, 4],
  ]);
  const packed = (await read("packed.safetensors", "surprisal")).rollouts;
  expect(packed.map(({ samplerLogProbs }) => samplerLogProbs!.length)).toEqual([3, 2]);
  expect(packed[0]!.samplerLogProbs![0]).toBeCloseTo(rollouts[0]!.samplerLogProbs![0]!, 3);
});

test("kinds of numpy arrays: every type, byte order, column-major, empty", async () => {
  const { tensors } = await readTensors(sample("kinds.npz"));
  expect(Object.fromEntries(Object.entries(tensors).map(([name, { dtype, shape }]) => [name, [dtype, shape]]))).toEqual(
    {
      f8: ["float64", [3]],
      f4: ["float32", [2, 2]],
      f2: ["float16", []],
      i8: ["int64", [2]],
      u8: ["uint64", [1]],
      u1: ["uint8", [1]],
      b: ["bool", [2]],
      big: ["int32", [3]],
      fortran: ["float64", [2, 3, 4]],
      empty: ["float64", [0, 3]],
    },
  );
  expect(tensors["f8"]!.data).toEqual(Float64Array.of(1.5, -0, NaN));
  expect(tensors["i8"]!.data).toEqual(BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n));
  expect(tensors["u8"]!.data).toEqual(BigUint64Array.of(2n ** 64n - 1n));
  expect(tensors["f2"]!.data).toEqual(Uint16Array.of(0x3e00));
  expect(tensors["big"]!.data).toEqual(Int32Array.of(0, 1, 2));
  expect(tensors["fortran"]!.data).toEqual(Float64Array.from({ length: 24 }, (_, i) => i));
});

test("a forced dialect is obeyed: a record of another one is refused with its field", async () => {
  await expect(readAllRollouts(sample("verl.jsonl"), { from: "sglang" })).rejects.toMatchObject({
    code: "ERR_SURPRISAL_FILE",
    message: expect.stringMatching(/verl\.jsonl:1: meta_info is undefined, expected an object/) as string,
    details: { line: 1, name: "meta_info" },
  });
});

test("a log keeps request, answer and reward on one line", async () => {
  const answer: unknown = JSON.parse(readFileSync(sample("openai-completions.jsonl"), "utf8"));
  const line = (prompt: string, reward: number): string =>
    `${JSON.stringify({ request: { prompt }, response: answer, reward, step: 2 })}\n`;
  const { rollouts } = await readAllRollouts(Buffer.from(line("a", 1) + line("a", 0) + line("b", 0)));
  expect(rollouts.map(({ reward, step, prompt }) => [reward, step, prompt])).toEqual([
    [1, 2, "a"],
    [0, 2, "a"],
    [0, 2, "b"],
  ]);
  expect(rollouts[0]!.group).toBe(rollouts[1]!.group);
  expect(rollouts[0]!.group).not.toBe(rollouts[2]!.group);
});

test("an end token that is missing on one side is an error, not a shift", async () => {
  const answer = readFileSync(sample("vllm-chat.jsonl"), "utf8").replace("[19, 151645]", "[19]");
  await expect(readAllRollouts(Buffer.from(answer))).rejects.toThrow(
    /logprobs\.content\.length is 2, expected 1, the length of choices\[0\]\.token_ids; .*end token/,
  );
});

test("the lowest float32, by which llama.cpp writes -Infinity, is that, and is counted", async () => {
  const answer = readFileSync(sample("llama-chat.jsonl"), "utf8").replace(
    "-2.493788003921509",
    "-3.4028234663852886e+38",
  );
  const { rollouts, report } = await readAllRollouts(Buffer.from(answer));
  expect([rollouts[0]!.samplerLogProbs![0], report.minusInfinities]).toEqual([-Infinity, 1]);
});

test("a server that counts other tokens than it lists is reported", async () => {
  const answer = readFileSync(sample("openai-completions.jsonl"), "utf8").replace(
    '"completion_tokens": 2',
    '"completion_tokens": 3',
  );
  const { report } = await readAllRollouts(Buffer.from(answer));
  expect(kinds(report)).toContain("lengths");
});

test.each([
  [
    "surprisal",
    { token_ids: [1, 2], sampler_logprobs: [-0.5, -9999], old_logprobs: [-9999, -1], entropies: [-9999, 1], reward: 1 },
    2,
  ],
  [
    "vllm",
    {
      object: "chat.completion",
      id: "x",
      prompt_token_ids: [7],
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "ab" },
          token_ids: [1, 2],
          logprobs: {
            content: [
              { token: "token_id:1", logprob: -0.5, top_logprobs: [{ token: "token_id:3", logprob: -9999 }] },
              { token: "token_id:2", logprob: -9999.0, top_logprobs: [] },
            ],
          },
        },
      ],
    },
    2,
  ],
  ["trl-server", { prompt_ids: [[7]], completion_ids: [[1, 2]], logprobs: [[-0.5, -9999]] }, 1],
] as const)("a log-prob of -9999 is -Infinity in dialect %s, and is counted", async (dialect, record, count) => {
  const { rollouts, report } = await readAllRollouts(Buffer.from(JSON.stringify(record)), { name: "x.jsonl" });
  expect(report).toMatchObject({ dialect, minusInfinities: count });
  expect(rollouts[0]!.samplerLogProbs).toEqual(Float64Array.of(-0.5, -Infinity));
  if (rollouts[0]!.topK) expect([...rollouts[0]!.topK.logProbs]).toEqual([-Infinity]);
  if (dialect === "surprisal") {
    expect(rollouts[0]!.oldLogProbs).toEqual(Float64Array.of(-Infinity, -1));
    expect(rollouts[0]!.entropies).toEqual(Float64Array.of(-9999, 1));
  }
});

test("tensors: a log-prob of -9999 is -Infinity, and the file's own bytes stay as they are", async () => {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-"));
  try {
    const written = [{ tokenIds: Int32Array.of(1, 2), samplerLogProbs: Float64Array.of(-9999, -1), reward: 1 }];
    for (const name of ["a.safetensors", "a.npz", "a.jsonl"]) {
      const path = join(folder, name);
      await writeRollouts(path, written);
      const bytes = readFileSync(path);
      const { rollouts, report } = await readAllRollouts(bytes);
      expect([name, report.minusInfinities, ...rollouts[0]!.samplerLogProbs!]).toEqual([name, 1, -Infinity, -1]);
      expect(bytes).toEqual(readFileSync(path));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
