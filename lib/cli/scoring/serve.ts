// surprisal reward --serve.
import { availableParallelism } from "node:os";
import { wholeNumber } from "../shell/arguments";
import type { Answer, Call, OptionSpecs } from "../shell/command";
import { UsageError } from "../shell/exit-codes";
import { needScorer, scorerOf } from "./scorers";
import { ScoringServer } from "./server";

export const SERVE_OPTIONS: OptionSpecs = {
  serve: { text: "judge what is posted over HTTP, until stopped; takes no files" },
  host: {
    value: "ADDRESS",
    text: "of --serve: where to listen. Default 127.0.0.1, this machine alone; there is no password",
  },
  port: { value: "N", text: "of --serve: the port. Default: a free one" },
  "at-once": { value: "N", text: "of --serve: requests judged at a time. Default: half of the processors" },
  queue: { value: "N", text: "of --serve: requests that wait, at most; more are refused with 429. Default 64" },
  deadline: { value: "MS", text: "of --serve: time for a request, its wait included; then 504. Default 600000" },
};

const REMEMBERED = 4096;
const MOST_PORTS = 65_535;
const LONGEST_TIMER = 2 ** 31 - 1;

function below(call: Call, name: string, least: number, otherwise: number, most: number): number {
  const value = wholeNumber(call.args, name, least, otherwise);
  if (value <= most) return value;
  throw new UsageError(`--${name} is ${value}, expected at most ${most}`, { name: `--${name}`, got: value });
}

export async function serveScorer(call: Call): Promise<Answer> {
  const { args, signal } = call;
  const name = needScorer(call);
  if (args.files.length > 0)
    throw new UsageError(`--serve takes no files, got ${args.files.join(" ")}`, { name: "--serve", got: args.files });
  const server = await ScoringServer.listen(scorerOf(name), {
    host: args.text("host") ?? "127.0.0.1",
    port: below(call, "port", 0, 0, MOST_PORTS),
    atOnce: wholeNumber(args, "at-once", 1, Math.max(1, Math.floor(availableParallelism() / 2))),
    waiting: wholeNumber(args, "queue", 0, 64),
    deadline: below(call, "deadline", 1, 600_000, LONGEST_TIMER),
    remembered: REMEMBERED,
  });
  const until = new Promise<void>((done) => {
    signal.addEventListener("abort", () => done(), { once: true });
    if (signal.aborted) done();
  }).then(() => server.close());
  return {
    json: { address: server.address, scorer: name },
    text: `${name} at ${server.address}\n`,
    until,
  };
}
