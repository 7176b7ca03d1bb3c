// Servers that mean harm: answers without end, redirects elsewhere, secrets said back.
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { remoteReward, type RemoteRewardOptions, serverPolicy } from "../../lib/experience";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const rows = [{ completion: "x", prompt: "a private prompt" }] as never;
const ask = (url: string, options: RemoteRewardOptions = {}): Promise<unknown> =>
  Promise.resolve(remoteReward(url, { retries: 0, backoff: 1, ...options })(rows, { signal: undefined } as never));

async function failure(url: string, options: RemoteRewardOptions = {}): Promise<Error> {
  const error: unknown = await ask(url, options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  return error as Error;
}

const MIB = 2 ** 20;

test("an answer without end is given up at the limit", async () => {
  let sent = 0;
  const url = await serve((_, response) => {
    const chunk = Buffer.alloc(MIB, "1");
    const more = (): void => {
      while (!response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", more);
      }
    };
    more();
  });
  const error = await failure(url, { answerLimit: 2 * MIB });
  expect(error).toMatchObject({ code: "ERR_SURPRISAL_REMOTE", details: { transient: false } });
  expect(error.message).toContain(`more than ${2 * MIB} bytes`);
  // What is on its way in the buffers of both sides comes on top.
  expect(sent).toBeLessThan(64 * MIB);
});

test.each(["gzip", "identity"])("the limit holds for the %s answer that is unpacked", async (encoding) => {
  const plain = Buffer.alloc(64 * MIB, " ");
  const body = encoding === "gzip" ? gzipSync(plain) : plain;
  const url = await serve((_, response) => {
    response.writeHead(200, { "content-encoding": encoding });
    response.end(body);
  });
  expect((await failure(url, { answerLimit: MIB })).message).toContain(`more than ${MIB} bytes`);
});

test("of the answer to a request that failed a little is read", async () => {
  const url = await serve((_, response) => {
    response.writeHead(400);
    const more = (): void => {
      while (!response.destroyed && response.write("no ".repeat(10_000)));
      if (!response.destroyed) response.once("drain", more);
    };
    more();
  });
  const { message } = await failure(url);
  expect(message).toContain("status 400: no no");
  expect(message.length).toBeLessThan(400);
});

test.each([301, 302, 303, 307, 308])("status %i leads no prompt and no key to another origin", async (status) => {
  const reached: unknown[] = [];
  const other = await serve((request, response) => {
    reached.push(request.headers);
    response.end("[1]");
  });
  const url = await serve((_, response) => {
    response.writeHead(status, { location: `${other}/collect` });
    response.end();
  });
  const error = await failure(url, { headers: { authorization: "Bearer sk-secret" } });
  expect(error.message).toContain("redirects to");
  expect(error).toMatchObject({ details: { transient: false } });
  expect(reached).toEqual([]);
});

test("a redirect within the origin is followed, as long as it ends", async () => {
  const bodies: string[] = [];
  const url = await serve((request, response) => {
    request.on("data", (data: Buffer) => bodies.push(String(data)));
    request.on("end", () => {
      if (request.url === "/there") return void response.end("[4]");
      response.writeHead(request.url === "/round" ? 308 : 307, {
        location: request.url === "/round" ? "/round" : "/there",
      });
      response.end();
    });
  });
  expect(await ask(`${url}/here`)).toEqual([4]);
  expect(bodies[1]).toBe(bodies[0]);
  expect((await failure(`${url}/round`)).message).toContain("more than 5 redirects");
});

const SECRET = "sk-live-0123456789";

test.each<[string, (url: string) => readonly [string, RemoteRewardOptions]]>([
  ["a key in a header", (url) => [url, { headers: { authorization: `Bearer ${SECRET}` } }]],
  ["a key of its own name", (url) => [url, { headers: { "X-Api-Key": SECRET } }]],
  ["a password in the address", (url) => [url.replace("http://", `http://me:${SECRET}@`), {}]],
  ["a key in the query", (url) => [`${url}/?key=${SECRET}`, {}]],
])("%s is in no message, even if the server says it back", async (_, where) => {
  for (const answer of [400, 500, 200]) {
    const url = await serve((request, response) => {
      response.writeHead(answer);
      const { authorization = "", "x-api-key": key = "" } = request.headers;
      const told = Buffer.from(authorization.replace("Basic ", ""), "base64").toString();
      response.end(`you sent ${authorization} ${String(key)} ${request.url!} ${told}`);
    });
    const error = await failure(...where(url));
    expect(error.message).toMatch(/status \d+|no JSON/);
    expect(inspect(error, { depth: 10 })).not.toContain(SECRET);
  }
  const [gone, options] = where("http://127.0.0.1:1");
  expect(inspect(await failure(gone, options), { depth: 10 })).not.toContain(SECRET);
});

test("a name and a password in the address reach the server as a header", async () => {
  let seen: string | undefined;
  const url = await serve((request, response) => {
    seen = request.headers.authorization;
    response.end("[1]");
  });
  await ask(url.replace("http://", "http://me:p%40ss@"));
  expect(Buffer.from(seen!.replace("Basic ", ""), "base64").toString()).toBe("me:p@ss");
});

test.each<[string, () => unknown]>([
  ["an address", () => remoteReward(`no address ${SECRET}`)],
  ["an address of a file", () => remoteReward(`file:///${SECRET}`)],
  ["a header's value", () => remoteReward("http://x", { headers: { authorization: `Bearer ${SECRET}\n`.repeat(2) } })],
  ["the address of a policy", () => serverPolicy({ url: `::${SECRET}`, dialect: "vllm" })],
])("%s that cannot be is refused at once, and not shown", (_, make) => {
  let error: unknown;
  try {
    make();
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toMatchObject({ code: "ERR_SURPRISAL_OPTION" });
  expect(inspect(error, { depth: 10 })).not.toContain(SECRET);
});

test("the deadline ends a call whatever the server does: never answer, answer a byte at a time, always fail", async () => {
  const silent = await serve(() => undefined);
  const slow = await serve((_, response) => {
    response.write("[");
    const timer = setInterval(() => response.write(" "), 5);
    response.on("close", () => clearInterval(timer));
  });
  const failing = await serve((_, response) => {
    response.writeHead(503, { "retry-after": "1000" });
    response.end();
  });
  for (const url of [silent, slow, failing]) {
    const error = await failure(url, { deadline: 100, retries: 1_000_000, timeout: 1_000_000 });
    expect(error).toMatchObject({ code: "ERR_SURPRISAL_REMOTE", details: { transient: true } });
  }
});

test("a reward that is no finite number makes the request fail", async () => {
  for (const reward of ["1e999", '"1"', "{}"]) {
    const url = await serve((_, response) => response.end(`[${reward}]`));
    expect(await failure(url, { retries: 0 })).toMatchObject({
      code: "ERR_SURPRISAL_REMOTE",
      message: expect.stringMatching(/rewards\[0\] is .*, expected a number/) as string,
    });
  }
});

test("a server that says when to come again is not asked before", async () => {
  let asked = 0;
  const url = await serve((_, response) => {
    ++asked;
    response.writeHead(429, { "retry-after": "30" });
    response.end();
  });
  // Without what it says the tenth request would have come after a hundredth of a second.
  const error = await failure(url, { deadline: 1000, retries: 10, backoff: 1, jitter: 0, timeout: 1_000_000 });
  expect(error).toMatchObject({ code: "ERR_SURPRISAL_REMOTE", details: { transient: true } });
  expect(asked).toBe(1);
});

test("the deadline is for all batches of a call together", async () => {
  let asked = 0;
  const url = await serve((_, response) => {
    // The first is answered, what comes then is not.
    if (++asked === 1) response.end("[1]");
  });
  const many = Array.from({ length: 5 }, () => ({ completion: "x" })) as never;
  const reward = remoteReward(url, { batchSize: 1, concurrency: 1, deadline: 200, timeout: 1_000_000 });
  await expect(Promise.resolve(reward(many, { signal: undefined } as never))).rejects.toThrow("deadline of 200 ms");
  expect(asked).toBeLessThanOrEqual(2);
});
