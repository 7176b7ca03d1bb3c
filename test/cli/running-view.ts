// `surprisal view` in this process: its address, what it tells, and its end.
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { once } from "node:events";
import { type Outcome, surprisal } from "./in-process";

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface News {
  readonly revision: string;
  readonly steps: number;
  readonly rollouts: number;
}

export class RunningView {
  private readonly controller = new AbortController();
  private readonly outcome: Promise<Outcome>;
  private readonly printed: Promise<string>;
  private readonly notes: string[] = [];

  constructor(args: readonly string[]) {
    let print = (_text: string): void => undefined;
    this.printed = new Promise((resolve) => (print = resolve));
    this.outcome = surprisal(["view", ...args], {
      signal: this.controller.signal,
      onStdout: print,
      onStderr: (text) => this.notes.push(text),
    });
    // A command that has failed prints nothing more.
    void this.outcome.then(({ stderr }) => print(stderr));
  }

  /** http://127.0.0.1:PORT/ */
  async address(): Promise<string> {
    const text = await this.printed;
    return /http:\/\/127\.0\.0\.1:\d+\//.exec(text)?.[0] ?? `no address in ${text}`;
  }

  get stderr(): string {
    return this.notes.join("");
  }

  async ask(
    path = "",
    { method = "GET", headers = {} }: { readonly method?: string; readonly headers?: Record<string, string> } = {},
  ): Promise<Answered> {
    const { hostname, port } = new URL(await this.address());
    const sent = request({ hostname, port, method, path: path === "" ? "/" : path, headers, agent: false }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    let text = "";
    for await (const piece of response.setEncoding("utf8")) text += String(piece);
    return { status: response.statusCode!, headers: response.headers, text };
  }

  /** What open pages hear, until the server ends. */
  async *news(): AsyncGenerator<News, void> {
    const { hostname, port } = new URL(await this.address());
    const sent = request({ hostname, port, path: "/events", agent: false }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    let text = "";
    for await (const piece of response.setEncoding("utf8")) {
      text += String(piece);
      const events = text.split("\n\n");
      text = events.pop()!;
      for (const event of events) yield JSON.parse(/^data: (.*)$/m.exec(event)![1]!) as News;
    }
  }

  /** Ctrl-C. */
  stop(): Promise<Outcome> {
    this.controller.abort(new Error("stopped"));
    return this.outcome;
  }
}
