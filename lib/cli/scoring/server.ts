// A scorer behind HTTP.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SurprisalError } from "../../core/errors";
import type { RewardFunction, RewardInput, RewardResult } from "../../reward";
import { UsageError } from "../shell/exit-codes";
import { Queue, type QueueOptions, Refused, TooLate } from "./queue";
import { BadRequest, inputsOf, textOf } from "./request-body";

export interface ScoringOptions extends QueueOptions {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
}

const LARGEST_REQUEST = 2 ** 28;
const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What went wrong, as the status by which a client knows whether to ask again. */
function replyTo(error: unknown): Reply {
  const body = { error: error instanceof Error ? error.message : String(error) };
  if (error instanceof BadRequest) return { status: error.status, body };
  if (error instanceof TooLate) return { status: 504, body: { error: "not judged within the deadline" } };
  if (error instanceof Refused) {
    if (error.why === "other content") return { status: 422, body };
    return { status: error.why === "busy" ? 429 : 503, body, headers: { "retry-after": "1" } };
  }
  // A scorer refuses what it cannot judge: another attempt would not help.
  const refusal = error instanceof SurprisalError && error.code !== "ERR_SURPRISAL_SANDBOX";
  return { status: refusal ? 422 : 500, body };
}

export class ScoringServer {
  readonly address: string;
  readonly #server: Server;
  readonly #queue: Queue<readonly RewardInput[], readonly RewardResult[]>;
  readonly #replies = new Map<number, number>();
  #completions = 0;

  private constructor(server: Server, scorer: RewardFunction, options: ScoringOptions) {
    const { address, port, family } = server.address() as AddressInfo;
    this.address = `http://${family === "IPv6" ? `[${address}]` : address}:${port}/`;
    this.#server = server;
    this.#queue = new Queue(async (inputs, signal) => {
      const results = await scorer(inputs, { signal });
      this.#completions += inputs.length;
      return results;
    }, options);
    const local = address === "127.0.0.1" || address === "::1";
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      void this.#answer(request, response, local);
    });
  }

  /** @throws UsageError where the address cannot be had */
  static async listen(scorer: RewardFunction, options: ScoringOptions): Promise<ScoringServer> {
    const { host, port } = options;
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) =>
        reject(
          new UsageError(`${host}:${port} cannot be listened at: ${error.message}`, { name: "--port", got: port }),
        ),
      );
      server.listen(port, host, resolve);
    });
    return new ScoringServer(server, scorer, options);
  }

  async #answer(request: IncomingMessage, response: ServerResponse, local: boolean): Promise<void> {
    const { status, body, headers } = await this.#replyTo(request, local).catch(replyTo);
    this.#replies.set(status, (this.#replies.get(status) ?? 0) + 1);
    const text = typeof body === "string" ? body : `${JSON.stringify(body)}\n`;
    const type = typeof body === "string" ? "text/plain; version=0.0.4" : "application/json";
    if (response.destroyed) return; // whoever asked has gone
    response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text), ...headers });
    response.end(text);
  }

  async #replyTo(request: IncomingMessage, local: boolean): Promise<Reply> {
    const { method, url = "", headers } = request;
    // A page of another site reaches a server of this machine by a name of its own, or posts what is no JSON.
    if (local && !LOOPBACK.includes((headers.host ?? "").replace(/:\d+$/, "")))
      return { status: 403, body: { error: "the host is none of this machine" } };
    const path = url.split("?")[0];
    if (path === "/health")
      return this.#queue.closing
        ? { status: 503, body: { status: "closing" } }
        : { status: 200, body: { status: "ok" } };
    if (path === "/metrics") return { status: 200, body: this.#metrics() };
    if (path !== "/") return { status: 404, body: { error: "there are /, /health and /metrics" } };
    if (method !== "POST")
      return { status: 405, body: { error: "completions are posted" }, headers: { allow: "POST" } };
    if (!/^application\/json\b/i.test(headers["content-type"] ?? ""))
      return { status: 415, body: { error: "the request has to be application/json" } };
    const key = headers["idempotency-key"];
    const text = await textOf(request, LARGEST_REQUEST);
    const content = createHash("sha256").update(text).digest("hex");
    const results = await this.#queue.submit(typeof key === "string" ? key : undefined, content, inputsOf(text));
    return {
      status: 200,
      body: {
        // Where a scorer says nothing about a completion there is no reward: null, never 0.
        rewards: results.map(({ reward }) => (Number.isFinite(reward) ? reward : null)),
        reasons: results.map(({ reason }) => reason),
      },
    };
  }

  /** As Prometheus reads it. */
  #metrics(): string {
    const queue = this.#queue;
    const one = (name: string, type: string, value: number): string =>
      `# TYPE surprisal_reward_${name} ${type}\nsurprisal_reward_${name} ${value}\n`;
    const replies = [...this.#replies].sort(([a], [b]) => a - b);
    return (
      one("waiting", "gauge", queue.waiting) +
      one("running", "gauge", queue.running) +
      one("done_total", "counter", queue.done) +
      one("failed_total", "counter", queue.failed) +
      one("repeated_total", "counter", queue.repeated) +
      one("completions_total", "counter", this.#completions) +
      "# TYPE surprisal_reward_replies_total counter\n" +
      replies.map(([status, count]) => `surprisal_reward_replies_total{status="${status}"} ${count}\n`).join("")
    );
  }

  /** Takes no more requests, finishes those that were taken, and gives the port back. */
  async close(): Promise<void> {
    await this.#queue.close();
    await new Promise(setImmediate); // replies are on their way
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    await closed;
  }
}
