// An answer that its reader refuses with badAnswer is asked for again; any other error of the reader is the caller's own.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { badAnswer, requestsTo } from "../../lib/experience/request";
import { HANG_MS } from "../support/hang";

let server: Server;
let url: string;
let asked = 0;

beforeEach(async () => {
  asked = 0;
  server = createServer((_, response) => response.end(JSON.stringify({ count: ++asked }))).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterEach(() => server.close());

function ask(read: (answer: unknown) => unknown, retries: number): Promise<unknown> {
  const { begin, post } = requestsTo("op", url, { retries, backoff: 1, timeout: HANG_MS });
  return post({}, read, new AbortController().signal, begin());
}

const third = (answer: unknown): number => {
  const { count } = answer as { count: number };
  if (count < 3) throw badAnswer(`count is ${count}`);
  return count;
};

test("until one is taken", async () => {
  await expect(ask(third, 4)).resolves.toBe(3);
  expect(asked).toBe(3);
});

test("as often as it may, and then the last reason is the error, which may pass", async () => {
  await expect(ask(third, 1)).rejects.toMatchObject({
    code: "ERR_SURPRISAL_REMOTE",
    message: expect.stringContaining("failed after 2 attempts: count is 2") as string,
    details: { transient: true },
  });
});

test("what else the reader throws comes out, at once", async () => {
  const own = new RangeError("mine");
  await expect(
    ask(() => {
      throw own;
    }, 4),
  ).rejects.toBe(own);
  expect(asked).toBe(1);
});
