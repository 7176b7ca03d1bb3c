// The DevTools protocol over two pipes: no port, no socket, and the browser ends when the pipes do.
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

export type Fields = Record<string, unknown>;
export type Listener = (method: string, params: Fields) => void;

interface Answer {
  readonly resolve: (result: Fields) => void;
  readonly reject: (error: Error) => void;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Fields;
  readonly result?: Fields;
  readonly error?: { readonly message: string };
  readonly sessionId?: string;
}

const FLAGS = [
  "--headless",
  "--no-sandbox", // what is opened are files of these tests, and containers have no sandbox to offer
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--hide-scrollbars",
  "--force-device-scale-factor=1",
  "--remote-debugging-pipe",
];

export class Connection {
  private readonly answers = new Map<number, Answer>();
  private readonly listeners = new Map<string, Listener>();
  private readonly process: ChildProcess;
  private readonly ended: Promise<void>;
  private last = 0;
  private rest = "";

  constructor(path: string, profile: string) {
    // A group of its own, so that helpers can be ended with it.
    this.process = spawn(path, [...FLAGS, `--user-data-dir=${profile}`], {
      detached: true,
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    this.ended = new Promise((done) => this.process.once("exit", () => done()));
    const failed = (why: string) => () => {
      for (const { reject } of this.answers.values()) reject(new Error(why));
      this.answers.clear();
    };
    this.process.once("error", failed("Chromium did not start"));
    this.process.once("exit", failed("Chromium ended"));
    const output = this.process.stdio[4] as Readable;
    output.setEncoding("utf8");
    output.on("data", (text: string) => this.take(text));
    this.input.on("error", () => undefined); // a call that is waiting hears of it through "exit"
  }

  private get input(): Writable {
    return this.process.stdio[3] as Writable;
  }

  private take(text: string): void {
    const messages = (this.rest + text).split("\0");
    this.rest = messages.pop()!;
    for (const message of messages) this.hear(JSON.parse(message) as Message);
  }

  private hear({ id, method, params, result, error, sessionId }: Message): void {
    if (method !== undefined) this.listeners.get(sessionId ?? "")?.(method, params ?? {});
    const answer = id === undefined ? undefined : this.answers.get(id);
    if (!answer) return;
    this.answers.delete(id!);
    if (error) answer.reject(new Error(error.message));
    else answer.resolve(result ?? {});
  }

  listen(sessionId: string, listener: Listener): void {
    this.listeners.set(sessionId, listener);
  }

  call(method: string, params: Fields = {}, sessionId?: string): Promise<Fields> {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.answers.set(id, { resolve, reject: (error) => reject(new Error(`${method}: ${error.message}`)) });
      this.input.write(`${JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) })}\0`);
    });
  }

  /** Asks it to end, and makes sure. */
  async close(): Promise<void> {
    const late = new Promise<void>((done) => setTimeout(done, 3000).unref());
    this.call("Browser.close").catch(() => undefined);
    await Promise.race([this.ended, late]);
    try {
      if (this.process.pid !== undefined) process.kill(-this.process.pid, "SIGKILL");
    } catch {
      // The group is gone already.
    }
    await this.ended;
  }
}
