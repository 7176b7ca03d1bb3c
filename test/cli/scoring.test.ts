// surprisal reward --serve: what it answers, what it refuses, and that under load, ends and restarts nothing is lost and nothing is
// judged twice. Scorers here end when a test says so: nothing waits for time to pass.
import { request } from "node:http";
import { remoteReward } from "../../lib/experience";
import { ScoringServer, type ScoringOptions } from "../../lib/cli/scoring/server";
import type { RewardFunction, RewardInput } from "../../lib/reward";
import { surprisal } from "./in-process";

const servers: ScoringServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const lengths: RewardFunction = (inputs) =>
  inputs.map(({ completion }) => ({ reward: completion.length, reason: "length" }));

async function serve(scorer: RewardFunction, options: Partial<ScoringOptions> = {}): Promise<ScoringServer> {
  const server = await ScoringServer.listen(scorer, {
    host: "127.0.0.1",
    port: 0,
    atOnce: 1,
    waiting: 2,
    deadline: 600_000,
    remembered: 16,
    ...options,
  });
  servers.push(server);
  return server;
}

/** A scorer that waits until it is let go, once for each call. */
function held(): {
  readonly scorer: RewardFunction;
  readonly begun: RewardInput[][];
  readonly letGo: () => void;
  readonly next: () => Promise<void>;
} {
  const begun: RewardInput[][] = [];
  const waiting: (() => void)[] = [];
  let told: () => void = () => undefined;
  return {
    begun,
    scorer: async (inputs, options) => {
      begun.push([...inputs]);
      told();
      await new Promise<void>((done) => waiting.push(done));
      return lengths(inputs, options);
    },
    letGo: () => waiting.shift()!(),
    next: () => new Promise((done) => (told = done)),
  };
}

interface Said {
  readonly status: number;
  readonly body: { readonly rewards?: (number | null)[]; readonly error?: string };
  readonly retryAfter: string | null;
}

async function post(server: ScoringServer, body: unknown, headers: Record<string, string> = {}): Promise<Said> {
  const response = await fetch(server.address, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return {
    status: response.status,
    body: (await response.json()) as Said["body"],
    retryAfter: response.headers.get("retry-after"),
  };
}

async function metric(server: ScoringServer, name: string): Promise<number> {
  const text = await (await fetch(`${server.address}metrics`)).text();
  return Number(new RegExp(`^surprisal_reward_${name.replace(/[{}"]/g, "\\$&")} (\\d+)$`, "m").exec(text)?.[1]);
}

test("judges in both spellings; what a scorer says nothing about has no reward", async () => {
  const server = await serve((inputs) =>
    inputs.map(({ completion, answer, prompt }) => ({
      reward: completion === "?" ? NaN : completion === answer ? 1 : 0,
      reason: prompt ?? "",
    })),
  );
  const query = { query: ["2+2=4", "2+2=5", "2+2=?"], prompts: ["2+2=", "2+2=", "2+2="], labels: ["4", "4", null] };
  expect((await post(server, query)).body).toEqual({ rewards: [1, 0, null], reasons: ["2+2=", "2+2=", "2+2="] });
  expect((await post(server, { completions: ["a"], labels: ["a"] })).body.rewards).toEqual([1]);
  expect((await post(server, { completions: [] })).body.rewards).toEqual([]);
  expect(await metric(server, "completions_total")).toBe(4);
});

test.each([
  ["{", 400],
  [[], 400],
  [{}, 400],
  [{ completions: "a" }, 400],
  [{ completions: [1] }, 400],
  [{ completions: ["a"], labels: [] }, 400],
  [{ query: ["a"], prompts: [null] }, 400],
  [{ completions: ["a"], abilities: [2] }, 400],
])("%j is refused with %i, and the server goes on", async (body, status) => {
  const server = await serve(lengths);
  const said = await post(server, body);
  expect(said.status).toBe(status);
  expect(typeof said.body.error).toBe("string");
  expect((await post(server, { completions: ["abc"] })).body.rewards).toEqual([3]);
});

test("pages of other sites get nothing: another host, no JSON, another method, another path", async () => {
  const server = await serve(lengths);
  expect((await post(server, { completions: [] }, { "content-type": "text/plain" })).status).toBe(415);
  const status = await new Promise((done, fail) => {
    const headers = { host: "rebound.example", "content-type": "application/json" };
    const asked = request(server.address, { method: "POST", headers }, (response) => {
      response.resume();
      done(response.statusCode);
    });
    asked.on("error", fail).end("{}");
  });
  expect(status).toBe(403);
  expect((await fetch(server.address)).status).toBe(405);
  expect((await fetch(`${server.address}x`, { method: "POST" })).status).toBe(404);
  expect((await fetch(`${server.address}health`)).status).toBe(200);
});

test("more than it takes: as many as may wait do, the rest get 429 and when to come again", async () => {
  const { scorer, begun, letGo, next } = held();
  const server = await serve(scorer);
  const begins = next();
  const first = post(server, { completions: ["a"] });
  await begins;
  const waits = [post(server, { completions: ["bb"] }), post(server, { completions: ["ccc"] })];
  while ((await metric(server, "waiting")) < 2); // both are there
  expect(await post(server, { completions: ["dddd"] })).toMatchObject({ status: 429, retryAfter: "1" });
  for (let i = 0; i < 3; ++i) {
    const more = next();
    letGo();
    if (i < 2) await more;
  }
  expect((await Promise.all([first, ...waits])).map(({ body }) => body.rewards)).toEqual([[1], [2], [3]]);
  expect(begun).toHaveLength(3);
  expect(await metric(server, 'replies_total{status="429"}')).toBe(1);
});

test("the same key is judged once, also while it is judged; with other content it is refused", async () => {
  const { scorer, begun, letGo, next } = held();
  const server = await serve(scorer);
  const key = { "idempotency-key": "one" };
  const begins = next();
  const first = post(server, { completions: ["abc"] }, key);
  await begins;
  const again = post(server, { completions: ["abc"] }, key);
  while ((await metric(server, "repeated_total")) < 1);
  letGo();
  expect((await first).body.rewards).toEqual([3]);
  expect((await again).body.rewards).toEqual([3]);
  expect((await post(server, { completions: ["abc"] }, key)).body.rewards).toEqual([3]);
  expect((await post(server, { completions: ["other"] }, key)).status).toBe(422);
  expect(begun).toHaveLength(1);
  expect(await metric(server, "completions_total")).toBe(1);
});

test("a job that fails is no result: the same key tries again", async () => {
  let times = 0;
  const server = await serve((inputs) => {
    if (++times === 1) throw new Error("the disk is full");
    return lengths(inputs);
  });
  const key = { "idempotency-key": "two" };
  expect(await post(server, { completions: ["abc"] }, key)).toMatchObject({
    status: 500,
    body: { error: "the disk is full" },
  });
  expect((await post(server, { completions: ["abc"] }, key)).body.rewards).toEqual([3]);
});

test("what is not judged within the deadline is stopped, and says so", async () => {
  const server = await serve(
    (_, options) =>
      new Promise((__, fail) =>
        options!.signal!.addEventListener("abort", () => fail(options!.signal!.reason as Error)),
      ),
    { deadline: 1 },
  );
  expect((await post(server, { completions: ["abc"] })).status).toBe(504);
});

test("closing takes no more, and finishes what it has", async () => {
  const { scorer, letGo, next } = held();
  const server = await serve(scorer);
  const begins = next();
  const first = post(server, { completions: ["abc"] });
  await begins;
  const closed = servers.splice(0)[0]!.close();
  expect(await post(server, { completions: ["late"] })).toMatchObject({ status: 503 });
  expect((await fetch(`${server.address}health`)).status).toBe(503);
  letGo();
  expect((await first).body.rewards).toEqual([3]);
  await closed;
});

test("clients ask for more than two servers take, and one of them goes: every reward is there, in its place", async () => {
  const counted = new Map<string, number>();
  const scorer: RewardFunction = (inputs) => {
    for (const { completion } of inputs) counted.set(completion, (counted.get(completion) ?? 0) + 1);
    return lengths(inputs);
  };
  const [one, other] = [await serve(scorer, { waiting: 0 }), await serve(scorer, { waiting: 0 })];
  const reward = remoteReward([one.address, other.address], {
    batchSize: 1,
    concurrency: 8,
    retries: 1000,
    backoff: 1,
    failures: 1,
  });
  const rows = Array.from({ length: 60 }, (_, i) => ({ completion: "x".repeat(i) }));
  const asked = reward(rows as never, { signal: undefined } as never);
  await servers.splice(servers.indexOf(one), 1)[0]!.close();
  expect(await asked).toEqual(rows.map(({ completion }) => completion.length));
  // What the server that goes has taken it answers, so that nothing is judged twice.
  expect([...counted.values()].every((times) => times === 1)).toBe(true);
  expect(counted.size).toBe(60);
});

test("surprisal reward --serve listens on this machine until it is stopped, and ends with 0", async () => {
  const stop = new AbortController();
  let said = "";
  const ended = surprisal(["reward", "--serve", "--scorer", "math"], {
    signal: stop.signal,
    onStdout: (text) => {
      said += text;
    },
  });
  while (!/http:\S+/.test(said)) await new Promise(setImmediate);
  const [address] = /http:\/\/127\.0\.0\.1:\d+\//.exec(said)!;
  const rows = [
    { completion: "\\boxed{4}", answer: "4" },
    { completion: "\\boxed{5}", answer: "4" },
  ];
  expect(await remoteReward(address)(rows as never, { signal: undefined } as never)).toEqual([1, 0]);
  stop.abort();
  expect(await ended).toMatchObject({ code: 0, stderr: "" });
});

test.each([
  [["--serve"], "--scorer is missing"],
  [["--serve", "--scorer", "math", "a.jsonl"], "takes no files"],
  [["--serve", "--scorer", "math", "--port", "70000"], "--port is 70000"],
  [["--serve", "--scorer", "math", "--queue", "-1"], "--queue"],
])("reward %j is refused: %s", async (args, says) => {
  const outcome = await surprisal(["reward", ...args]);
  expect(outcome.code).toBe(2);
  expect(outcome.stderr).toContain(says);
});
