// Where the fields of rollouts stand, as the caller says: map, groupBy, rewardWeights; and rewards that records have in their own way.
import { readAllRollouts, type ReadOptions, type Rollout } from "../../lib/io";

const lines = (...records: object[]): Uint8Array =>
  Buffer.from(records.map((record) => JSON.stringify(record)).join("\n"));

async function read(
  records: object[],
  options: ReadOptions = {},
): Promise<{ rollouts: Rollout[]; rewardFrom?: string }> {
  const { rollouts, report } = await readAllRollouts(lines(...records), options);
  return { rollouts, rewardFrom: report.rewardFrom! };
}

const choice = (index: number, more: object = {}): object => ({ index, text: `t${index}`, ...more });

describe("map", () => {
  const record = { input: "p", output: "o", score: 1, extra: { format: 0.5, ok: true }, question: "q7" };

  test("takes a field from another name, at any depth, and no longer keeps it in meta", async () => {
    const map = { reward: "extra.format", "rewards.ok": "extra.ok", "meta.name": "question", step: "score" };
    const { rollouts, rewardFrom } = await read([record], { map });
    expect(rollouts[0]).toMatchObject({ reward: 0.5, rewards: { ok: 1 }, step: 1, meta: { name: "q7" } });
    expect(rewardFrom).toBe("extra.format");
    const { rollouts: plain } = await read([{ ...record, mine: 3 }], { map: { reward: "mine" } });
    expect(plain[0]!.reward).toBe(3);
    expect(plain[0]!.meta).not.toHaveProperty("mine");
  });

  test("reads records of no known dialect where it names the completion", async () => {
    const unknown = { question: "2+2?", answer: "4", grade: true, who: "a" };
    const map = { prompt: "question", text: "answer", reward: "grade" };
    const { rollouts } = await read([unknown], { map, groupBy: "prompt" });
    expect(rollouts[0]).toMatchObject({ prompt: "2+2?", text: "4", reward: 1, meta: { who: "a" } });
    expect(rollouts[0]!.group).toMatch(/^prompt-[0-9a-f]{16}$/);
    await expect(read([unknown])).rejects.toThrow(/no known dialect.*map says which field is which/);
  });

  test("a list has one number for each completion of the record", async () => {
    const answer = { id: "x", choices: [choice(0), choice(1)], scores: [0.25, 0.75] };
    const { rollouts } = await read([answer], { map: { reward: "scores" } });
    expect(rollouts.map(({ reward }) => reward)).toEqual([0.25, 0.75]);
    await expect(read([{ ...answer, scores: [1] }], { map: { reward: "scores" } })).rejects.toThrow(
      /scores\.length is 1, expected 2/,
    );
  });

  test("null is a reward that is not there; a field that is not there is an error with the nearest name", async () => {
    const { rollouts } = await read([{ ...record, mine: null }], { map: { "rewards.mine": "mine" } });
    expect(rollouts[0]!.rewards).toBeUndefined();
    await expect(read([record], { map: { reward: "scor" } })).rejects.toThrow(
      /scor is undefined.*did you mean "score"/,
    );
    await expect(read([{ ...record, mine: "high" }], { map: { reward: "mine" } })).rejects.toThrow(/reward is "high"/);
  });

  test.each([
    [{ map: { rewrd: "score" } }, /map is "rewrd".*did you mean "reward"/],
    [{ map: { reward: "" } }, /map\.reward is ""/],
    [{ rewardWeights: { a: NaN } }, /rewardWeights\.a is NaN/],
    [{ groupBy: "" }, /groupBy is ""/],
  ] as [ReadOptions, RegExp][])("refuses %p", async (options, message) => {
    await expect(read([record], options)).rejects.toThrow(message);
  });
});

describe("rewards arrive", () => {
  test("verl's score, and columns that call themselves rewards", async () => {
    const { rollouts, rewardFrom } = await read([
      { input: "p", output: "o", score: 1, overlong_reward: -0.5, acc: true },
    ]);
    expect(rollouts[0]).toMatchObject({ reward: 1, rewards: { overlong_reward: -0.5 }, meta: { acc: true } });
    expect(rewardFrom).toBe("score");
  });

  test("OpenRLHF's reward", async () => {
    const { rollouts, rewardFrom } = await read([{ input: "p", output: "o", reward: 0.5 }]);
    expect(rollouts[0]).toMatchObject({ prompt: "p", text: "o", reward: 0.5 });
    expect(rollouts[0]).not.toHaveProperty("meta");
    expect(rewardFrom).toBe("reward");
  });

  test("several functions are summed by stated weights; one that abstains is left out", async () => {
    const record = (a: number | null) => ({ prompt: "p", completion: "c", a_reward: a, b_reward: 0.5 });
    const plain = await read([record(1), record(null)]);
    expect(plain.rollouts.map(({ reward }) => reward)).toEqual([1.5, 0.5]);
    expect(plain.rewardFrom).toBe("a_reward + b_reward");
    const weighted = await read([record(1), record(null)], { rewardWeights: { b_reward: 4 } });
    expect(weighted.rollouts.map(({ reward }) => reward)).toEqual([3, 2]);
    expect(weighted.rewardFrom).toBe("a_reward + 4 b_reward");
  });

  test("beside the choices of an answer, one for each; and inside a choice", async () => {
    const answer = { id: "x", object: "text_completion", choices: [choice(0), choice(1)] };
    const rewardsOf = async (record: object) => (await read([record])).rollouts.map(({ reward }) => reward);
    expect(await rewardsOf({ ...answer, rewards: [1, 0] })).toEqual([1, 0]);
    expect(await rewardsOf({ response: answer, reward: [1, 0] })).toEqual([1, 0]);
    expect(await rewardsOf({ response: answer, rewards: { a: [1, 0], b: [0.5, 0.5] } })).toEqual([1.5, 0.5]);
    expect(
      await rewardsOf({ ...answer, choices: [choice(0, { reward: 2 }), choice(1, { rewards: { a: 3 } })] }),
    ).toEqual([2, 3]);
    await expect(read([{ ...answer, rewards: [1] }])).rejects.toThrow(/rewards\.length is 1, expected 2/);
  });
});

describe("groups", () => {
  const records = [
    { input: "p", output: "a", score: 1, uid: "u1" },
    { input: "p", output: "b", score: 0, uid: "u2" },
  ];
  test("by a field, or by the prompt whatever the source says", async () => {
    const groups = async (options: ReadOptions) => (await read(records, options)).rollouts.map(({ group }) => group);
    expect(await groups({ groupBy: "uid" })).toEqual(["u1", "u2"]);
    const [first, second] = await groups({ groupBy: "prompt" });
    expect(first).toBe(second);
    const own = [
      { group: 1, text: "a", prompt: "p" },
      { group: 2, text: "b", prompt: "p" },
    ];
    const byPrompt = (await read(own, { groupBy: "prompt" })).rollouts;
    expect(byPrompt[0]!.group).toBe(byPrompt[1]!.group);
  });
});

describe("answers of servers", () => {
  test("a choice a line, with its index", async () => {
    const answer = (index: number) => ({ id: "x", object: "text_completion", choices: [choice(index)] });
    const { rollouts } = await read([answer(0), answer(3)]);
    expect(rollouts.map(({ group }) => group)).toEqual(["x", "x"]);
    expect(rollouts[1]!.id).toBe("x#3");
  });

  test("several prompts with n choices each", async () => {
    const response = { id: "x", object: "text_completion", choices: [0, 1, 2, 3, 4, 5].map((index) => choice(index)) };
    const { rollouts } = await read([{ request: { prompt: ["p", "q"], n: 3 }, response }]);
    expect(rollouts.map(({ prompt }) => prompt)).toEqual(["p", "p", "p", "q", "q", "q"]);
    const one = { ...response, choices: [choice(4)] };
    expect((await read([{ request: { prompt: ["p", "q"], n: 3 }, response: one }])).rollouts[0]!.prompt).toBe("q");
    const beyond = { ...response, choices: [choice(6)] };
    await expect(read([{ request: { prompt: ["p", "q"], n: 3 }, response: beyond }])).rejects.toThrow(/index is 6/);
  });

  test("a character that is split over tokens belongs to the one that ends it", async () => {
    const [a, b] = [Buffer.from("😀").subarray(0, 2), Buffer.from("😀").subarray(2)];
    const token = (text: string, bytes: Buffer | null) => ({ token: text, logprob: -1, bytes: bytes && [...bytes] });
    const content = [token("\ufffd", a), token("\ufffd", b), token("!", Buffer.from("!")), token("<end>", null)];
    const chat = { object: "chat.completion", choices: [{ message: { content: "😀!" }, logprobs: { content } }] };
    expect((await read([chat])).rollouts[0]!.tokens).toEqual(["", "😀", "!", "<end>"]);
    const cut = {
      object: "chat.completion",
      choices: [{ message: { content: "" }, logprobs: { content: [content[0]!] } }],
    };
    expect((await read([cut])).rollouts[0]!.tokens).toEqual(["\ufffd"]);
  });

  test.each([
    [{ custom_id: "a", response: null, error: { message: "rate limit" } }, /is an error, not an answer: rate limit/],
    [{ custom_id: "a", response: { status_code: 400, body: { error: { message: "too long" } } } }, /too long/],
    [{ object: "chat.completion.chunk", choices: [{ delta: { content: "H" } }] }, /a piece of a streamed answer/],
  ])("what is no answer is refused with the reason, or counted: %j", async (record, message) => {
    await expect(read([record])).rejects.toThrow(message);
    const answer = { id: "x", object: "text_completion", choices: [choice(0)] };
    const { rollouts, report } = await readAllRollouts(lines(record, answer), { malformed: "skip" });
    expect([rollouts.length, report.skipped]).toEqual([1, 1]);
    expect(
      report.warnings.some(({ kind, message: said }) => kind === "skipped" && said.includes("--skip-malformed")),
    ).toBe(true);
  });

  test("a page of HTML and the events of a stream are no rollouts that were cut off", async () => {
    await expect(readAllRollouts(Buffer.from("<!doctype html><html><body>404</body></html>"))).rejects.toThrow(
      /no JSON/,
    );
    await expect(readAllRollouts(Buffer.from('data: {"choices":[]}\n\n'))).rejects.toThrow(
      /event of a streamed answer/,
    );
    const { report } = await readAllRollouts(Buffer.from('{"text":"a","rew'));
    expect(report.cutOff).toEqual({ line: 1, bytes: 16 });
  });
});
