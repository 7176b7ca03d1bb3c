// A server on loopback that speaks vLLM's and SGLang's tongue, scores responses, and misbehaves as it is told.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One thing that goes wrong, with one request. */
export type Fault =
  | "500"
  | "400"
  | "busy"
  | "slow"
  | "hang-up"
  | "truncated"
  | "wrong lengths"
  | "missing ids"
  | "null log-prob"
  | "other prompt"
  | "abort"
  | "nothing"
  | "one less"
  | "one more"
  | "not a number";

interface Body {
  readonly prompt?: number[] | string;
  readonly input_ids?: number[];
  readonly text?: string;
  readonly n?: number;
  readonly sampling_params?: { readonly n?: number; readonly max_new_tokens?: number };
  readonly prompt_logprobs?: number;
  readonly logprob_start_len?: number;
  readonly query?: string[];
}

export interface ScriptedServer {
  readonly url: string;
  /** Paths of the requests, in their order. */
  readonly requests: string[];
  readonly bodies: Body[];
  /** Most requests under way at a time. */
  readonly most: () => number;
  /** No request is answered before so many were under way at a time. */
  readonly awaitTogether: (count: number) => void;
  /** What goes wrong with the next requests to a path that ends so, one entry each; null = nothing. */
  readonly fail: (path: string, ...faults: (Fault | null)[]) => void;
  readonly close: () => Promise<void>;
}

export const logProbOf = (id: number): number => -0.01 * (id % 100) - 0.5;
/** What prompts in text become. */
export const idsOfText = (text: string): number[] => Array.from(text, (letter) => letter.charCodeAt(0) % 50);

const STATUS: Partial<Record<Fault, number>> = { "500": 500, "400": 400, busy: 429 };

export async function startServer(): Promise<ScriptedServer> {
  const faults = new Map<string, (Fault | null)[]>();
  const requests: string[] = [];
  const bodies: Body[] = [];
  const drawn = new Map<number, number>();
  /** The requests under way. */
  const open = new Set<ServerResponse>();
  let [most, together] = [0, 0];
  const waiting: (() => void)[] = [];

  /** Ids from 100 times the prompt's first id on; no response is given twice. */
  function respond(first: number): number[] {
    const count = drawn.get(first) ?? 0;
    drawn.set(first, count + 1);
    return Array.from({ length: 2 + (count % 3) }, (_, t) => first * 100 + count * 5 + t);
  }

  function damaged<T>(values: T[], fault: Fault | null): (T | null)[] {
    if (fault === "wrong lengths") return values.slice(1);
    return fault === "null log-prob" ? [null, ...values.slice(1)] : values;
  }

  const countOf = (n: number, fault: Fault | null): number =>
    fault === "nothing" ? 0 : fault === "one less" ? n - 1 : fault === "one more" ? n + 1 : n;
  const textOf = (ids: readonly number[]): string => ids.map((id) => `<${id}>`).join("");

  function vllm({ prompt = [], n = 1, prompt_logprobs: scores }: Body, fault: Fault | null): unknown {
    const ids = typeof prompt === "string" ? idsOfText(prompt) : prompt;
    if (scores !== undefined) {
      const entries = ids.map((id, i) =>
        i === 0 ? null : { [id]: { logprob: logProbOf(id), rank: 1 }, 7777: { logprob: -9, rank: 2 } },
      );
      return {
        choices: [{ index: 0, text: "", prompt_logprobs: fault === "wrong lengths" ? entries.slice(1) : entries }],
      };
    }
    const choices = Array.from({ length: countOf(n, fault) }, (_, index) => {
      const tokens = respond(ids[0]!);
      return {
        index,
        text: textOf(tokens),
        ...(fault !== "missing ids" && {
          token_ids: tokens,
          prompt_token_ids: fault === "other prompt" ? [9, 9] : ids,
        }),
        logprobs: { tokens: tokens.map((id) => `<${id}>`), token_logprobs: damaged(tokens.map(logProbOf), fault) },
        finish_reason: fault === "abort" ? "abort" : tokens.length === 4 ? "length" : "stop",
        stop_reason: null,
      };
    });
    return { object: "text_completion", choices };
  }

  function sglang(
    {
      input_ids: given,
      text = "",
      sampling_params: { n = 1, max_new_tokens: limit } = {},
      logprob_start_len: start,
    }: Body,
    fault: Fault | null,
  ): unknown {
    const ids = given ?? idsOfText(text);
    const input = ids.map((id, i) => [i === (start ?? 0) ? null : logProbOf(id), id, null]).slice(start);
    if (limit === 0)
      return {
        text: "",
        meta_info: {
          prompt_tokens: ids.length,
          input_token_logprobs: fault === "wrong lengths" ? input.slice(-1) : input,
        },
      };
    const answers = Array.from({ length: countOf(n, fault) }, () => {
      const tokens = respond(ids[0]!);
      const logProbs = damaged(tokens.map(logProbOf), fault);
      return {
        text: textOf(tokens),
        output_ids: tokens,
        meta_info: {
          finish_reason:
            fault === "abort"
              ? { type: "abort" }
              : tokens.length === 4
                ? { type: "length", length: 4 }
                : { type: "stop", matched: 2 },
          prompt_tokens: ids.length,
          ...(start === 0 && { input_token_logprobs: input }),
          ...(fault !== "missing ids" && { output_token_logprobs: logProbs.map((x, t) => [x, tokens[t], null]) }),
        },
      };
    });
    return n === 1 && answers.length === 1 ? answers[0] : answers;
  }

  /** The last id of a response, over 10: "<101><102>" has 10.2. */
  function score({ query = [] }: Body, fault: Fault | null): unknown {
    const values: unknown[] = query.map((text) => Number(/<(\d+)>$/.exec(text)![1]) / 10);
    return {
      rewards:
        fault === "wrong lengths" ? values.slice(1) : fault === "not a number" ? ["NaN", ...values.slice(1)] : values,
    };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
    requests.push(path);
    bodies.push(body);
    const queue = [...faults].find(([ending]) => path.endsWith(ending))?.[1];
    const fault = queue?.shift() ?? null;
    if (fault === "hang-up") return void response.destroy();
    // Never answers: whoever asked has to give up.
    if (fault === "slow") return;
    if (most < together) await new Promise<void>((go) => waiting.push(go));
    const status = fault ? (STATUS[fault] ?? 200) : 200;
    const speak = path.endsWith("/score") ? score : path.endsWith("/generate") ? sglang : vllm;
    const text = JSON.stringify(status === 200 ? speak(body, fault) : { error: "told to fail" });
    response.writeHead(status, {
      "content-type": "application/json",
      ...(fault === "busy" && { "retry-after": "0.02" }),
    });
    // Over before the caller can know it: its next request may arrive ahead of this one's "close".
    open.delete(response);
    response.end(fault === "truncated" ? text.slice(0, -8) : text);
  }

  const server = createServer((request, response) => {
    open.add(response);
    most = Math.max(most, open.size);
    response.on("close", () => open.delete(response));
    if (most >= together) for (const go of waiting.splice(0)) go();
    void answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    bodies,
    most: () => most,
    awaitTogether: (count) => (together = count),
    fail: (path, ...list) => void faults.set(path, list),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
