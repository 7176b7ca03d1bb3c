// Policies behind servers, on loopback: what they ask, what they read, and what becomes of damage.
import { generateCompletions, serverPolicy, samplesOf, type ServerPolicyOptions } from "../../lib/experience";
import { idsOfText, logProbOf, startServer, type Fault, type ScriptedServer } from "./scripted-server";
import { HANG_MS } from "../support/hang";

let server: ScriptedServer;
beforeEach(async () => (server = await startServer()));
afterEach(() => server.close());

const quick = { retries: 2, backoff: 1, timeout: HANG_MS } as const;
const DIALECTS = ["vllm", "sglang"] as const;
const PATH = { vllm: "/v1/completions", sglang: "/generate" } as const;

describe.each(DIALECTS)("%s", (dialect) => {
  const policy = (options: Partial<ServerPolicyOptions> = {}) =>
    serverPolicy({
      url: `${server.url}/`,
      dialect,
      model: "m",
      sampling: { maxTokens: 4, temperature: 0.7 },
      ...quick,
      ...options,
    });
  const signal = (): AbortSignal => new AbortController().signal;
  const ask = (count = 3, options: Partial<ServerPolicyOptions> = {}) =>
    policy(options).generate(
      { prompts: [{ ids: [5, 6] }], indices: [0], counts: [count], round: 0 },
      { signal: signal() },
    );

  test("ids, log-probs, text and reasons arrive as the server has them", async () => {
    const [completions] = (await ask())!;
    expect(completions!.map(({ tokenIds }) => tokenIds)).toEqual([
      [500, 501],
      [505, 506, 507],
      [510, 511, 512, 513],
    ]);
    for (const { tokenIds, samplerLogProbs, text } of completions!) {
      expect(samplerLogProbs).toEqual(Array.from(tokenIds, logProbOf));
      expect(text).toBe(Array.from(tokenIds, (id) => `<${id}>`).join(""));
    }
    expect(completions!.map(({ finishReason }) => finishReason)).toEqual(["stop", "stop", "length"]);
    expect(server.requests).toEqual([PATH[dialect]]);
    expect(server.bodies[0]).toMatchObject(
      dialect === "vllm"
        ? { model: "m", prompt: [5, 6], n: 3, max_tokens: 4, temperature: 0.7, return_token_ids: true }
        : { input_ids: [5, 6], sampling_params: { n: 3, max_new_tokens: 4, temperature: 0.7 }, return_logprob: true },
    );
  });

  test("a prompt in text gets its ids from the server", async () => {
    const { groups } = await generateCompletions(policy(), [{ text: "abc" }], { samplesPerPrompt: 2 });
    const { promptIds, promptOffsets } = samplesOf(groups);
    expect(Array.from(promptIds)).toEqual([...idsOfText("abc"), ...idsOfText("abc")]);
    expect(Array.from(promptOffsets)).toEqual([0, 3, 6]);
  });

  test("given tokens are scored, row by row", async () => {
    const samples = samplesOf([
      { prompt: { ids: [5, 6, 8] }, completions: [{ tokenIds: [31, 32] }, { tokenIds: [] }, { tokenIds: [45] }] },
    ]);
    const logProbs = await policy().logProbs(samples, { signal: signal() });
    expect(Array.from(logProbs)).toEqual([31, 32, 45].map(logProbOf));
    expect(server.requests).toHaveLength(2); // nothing to ask about an empty response
  });

  test.each<[Fault, string]>([
    ["500", "status 500"],
    ["busy", "status 429"],
    ["slow", "no answer within 200 ms"],
    ["hang-up", "fetch failed"],
    ["truncated", "no JSON"],
    ["wrong lengths", dialect === "vllm" ? "entries for" : "different tokens"],
    ["null log-prob", "null"],
    ["missing ids", dialect === "vllm" ? "no token ids" : "no list"],
  ])("%s: asked again; three times in a row is an error that may pass", async (fault, message) => {
    // The second attempt has an answer, in ten times as long on a busy machine.
    server.fail(PATH[dialect], fault);
    expect((await ask(3, fault === "slow" ? { timeout: 2000 } : {}))![0]).toHaveLength(3);
    expect(server.requests).toHaveLength(2);
    server.fail(PATH[dialect], fault, fault, fault);
    await expect(ask(3, fault === "slow" ? { timeout: 200 } : {})).rejects.toMatchObject({
      code: "ERR_SURPRISAL_REMOTE",
      details: { transient: true },
      message: expect.stringMatching(`after 3 attempts.*${message}`) as string,
    });
    expect(server.requests).toHaveLength(5);
  });

  test("a request that the server refuses is not made again", async () => {
    server.fail(PATH[dialect], "400");
    await expect(ask()).rejects.toMatchObject({
      code: "ERR_SURPRISAL_REMOTE",
      details: { transient: false },
      message: expect.stringContaining("told to fail") as string,
    });
    expect(server.requests).toHaveLength(1);
  });

  test("scores of the wrong length are asked for again", async () => {
    const samples = samplesOf([{ prompt: { ids: [5] }, completions: [{ tokenIds: [31, 32] }] }]);
    server.fail(PATH[dialect], "wrong lengths", "truncated");
    expect(Array.from(await policy().logProbs(samples, { signal: signal() }))).toEqual([31, 32].map(logProbOf));
    expect(server.requests).toHaveLength(3);
  });

  test("completions that the server gave up are left out", async () => {
    server.fail(PATH[dialect], "abort");
    expect((await ask())![0]).toEqual([]);
  });

  test("an abort ends a request under way and the wait before the next", async () => {
    for (const fault of ["slow", "500"] as const) {
      server.fail(PATH[dialect], fault, fault, fault);
      const controller = new AbortController();
      const reason = new Error("enough");
      const before = server.requests.length;
      const asked = policy({ timeout: 60_000, backoff: 60_000, jitter: 0 }).generate(
        { prompts: [{ ids: [5] }], indices: [0], counts: [1], round: 0 },
        { signal: controller.signal },
      );
      while (server.requests.length === before) await new Promise((next) => setImmediate(next));
      controller.abort(reason);
      await expect(asked).rejects.toBe(reason);
    }
  });
});

test("vLLM: ids may be spelled as tokens, and an answer about another prompt is refused", async () => {
  const policy = serverPolicy({
    url: server.url,
    dialect: "vllm",
    ...quick,
    fetch: () =>
      Promise.resolve(
        Response.json({
          choices: [{ text: "x", logprobs: { tokens: ["token_id:7"], token_logprobs: [-1] }, finish_reason: "stop" }],
        }),
      ),
  });
  const request = { prompts: [{ ids: [5] }], indices: [0], counts: [1], round: 0 };
  const { signal } = new AbortController();
  expect(await policy.generate(request, { signal })).toMatchObject([[{ tokenIds: [7], samplerLogProbs: [-1] }]]);
  server.fail("/v1/completions", "other prompt", "other prompt", "other prompt");
  await expect(
    serverPolicy({ url: server.url, dialect: "vllm", ...quick }).generate(request, { signal }),
  ).rejects.toThrow("another prompt");
});

test("wrong options are refused at once", () => {
  expect(() => serverPolicy({ url: "http://x", dialect: "tgi" as never })).toThrow('dialect is "tgi"');
});
