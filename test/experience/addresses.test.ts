// Several reward servers: who is asked, who rests, and that every attempt of a request has the same key.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { remoteReward, type RemoteRewardOptions } from "../../lib/experience";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Asked {
  readonly key: string | undefined;
  readonly query: readonly string[];
}

interface Reward {
  readonly url: string;
  readonly asked: Asked[];
}

type Answers = (response: ServerResponse, asked: Asked, times: number) => void;

const judged: Answers = (response, { query }) =>
  response.end(JSON.stringify({ rewards: query.map((text) => text.length) }));
const failing =
  (status: number): Answers =>
  (response) => {
    response.statusCode = status;
    response.end("not now");
  };

async function serve(answers: Answers): Promise<Reward> {
  const asked: Asked[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    let text = "";
    request.on("data", (piece: Buffer) => (text += piece.toString()));
    request.on("end", () => {
      const key = request.headers["idempotency-key"];
      const one: Asked = { key: key as string | undefined, ...(JSON.parse(text) as { query: string[] }) };
      asked.push(one);
      answers(response, one, asked.length);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const rows = Array.from({ length: 12 }, (_, i) => ({ completion: "x".repeat(i) })) as never;

async function rewardsOf(urls: readonly string[], options: RemoteRewardOptions = {}): Promise<unknown> {
  const reward = remoteReward(urls, { batchSize: 2, concurrency: 1, backoff: 1, ...options });
  return reward(rows, { signal: undefined } as never);
}

const LENGTHS = Array.from({ length: 12 }, (_, i) => i);

test("requests go round, each with a key of its own", async () => {
  const [one, other] = [await serve(judged), await serve(judged)];
  expect(await rewardsOf([one.url, other.url])).toEqual(LENGTHS);
  expect([one.asked.length, other.asked.length]).toEqual([3, 3]);
  const keys = [...one.asked, ...other.asked].map(({ key }) => key);
  expect(new Set(keys).size).toBe(6);
  expect(keys).not.toContain(undefined);
});

test("a request that fails goes to another server with the same key; the one that fails rests after three failures", async () => {
  const [broken, sound] = [await serve(failing(500)), await serve(judged)];
  expect(await rewardsOf([broken.url, sound.url], { retries: 1 })).toEqual(LENGTHS);
  expect(broken.asked).toHaveLength(3);
  expect(sound.asked).toHaveLength(6);
  for (const { key } of broken.asked) expect(sound.asked.filter((asked) => asked.key === key)).toHaveLength(1);
});

test("a server that is not there is nobody's loss", async () => {
  const gone = await serve(judged);
  servers.splice(0).forEach((server) => server.close());
  const sound = await serve(judged);
  expect(await rewardsOf([gone.url, sound.url], { retries: 1, failures: 1 })).toEqual(LENGTHS);
  expect(gone.asked).toHaveLength(0);
});

test("one that has too much to do is asked again, and does not rest", async () => {
  const [busy, sound] = [await serve(failing(429)), await serve(judged)];
  expect(await rewardsOf([busy.url, sound.url], { retries: 1, failures: 1 })).toEqual(LENGTHS);
  expect(busy.asked).toHaveLength(6);
});

test("after its rest a server that works again is asked again; where all rest they are asked all the same", async () => {
  const recovering = await serve((response, asked, times) =>
    (times <= 1 ? failing(503) : judged)(response, asked, times),
  );
  expect(await rewardsOf([recovering.url], { retries: 1, failures: 1, rest: 2 ** 30 })).toEqual(LENGTHS);
  const [one, other] = [await serve(failing(503)), await serve(judged)];
  expect(await rewardsOf([one.url, other.url], { retries: 1, failures: 1, rest: 0 })).toEqual(LENGTHS);
  expect(one.asked.length).toBeGreaterThan(1);
});

test("what none of them answers is an error with the number of attempts; a refusal is final at once", async () => {
  const urls = [(await serve(failing(500))).url, (await serve(failing(502))).url];
  await expect(rewardsOf(urls, { retries: 3 })).rejects.toMatchObject({ code: "ERR_SURPRISAL_REMOTE" });
  const refusing = await serve(failing(422));
  const sound = await serve(judged);
  await expect(rewardsOf([refusing.url, sound.url])).rejects.toMatchObject({ details: { transient: false } });
  expect(sound.asked).toHaveLength(0);
});

test.each([
  [[], {}, "url"],
  [["ftp://x"], {}, "url"],
  [["http://127.0.0.1:1"], { failures: 0 }, "failures"],
  [["http://127.0.0.1:1"], { rest: -1 }, "rest"],
])("remoteReward(%j, %j) is refused: %s", (urls, options, name) => {
  expect(() => remoteReward(urls, options)).toThrow(
    expect.objectContaining({ details: expect.objectContaining({ name }) as unknown }) as Error,
  );
});
