// surprisal convert: rollouts from one layout or dialect into another.
import { visible } from "../report/visible";
import type { Answer, Call, Command } from "./shell/command";
import { UsageError } from "./shell/exit-codes";
import { noteWarnings, openRollouts, shownName } from "./rollouts/read-batches";
import { READ_OPTIONS } from "./rollouts/read-flags";
import { reserve, WRITE_OPTIONS, write } from "./rollouts/write-rollouts";

async function run(call: Call): Promise<Answer> {
  const { args } = call;
  const [input, second] = args.files;
  const out = args.text("out") ?? second;
  if (out === undefined)
    throw new UsageError("the file to write is missing; usage: surprisal convert INPUT OUTPUT", { name: "OUTPUT" });
  if (second !== undefined && args.text("out") !== undefined)
    throw new UsageError("OUTPUT and --out both name the file to write; give one", { name: "--out" });
  const place = await reserve(call, out);
  const reader = openRollouts(call, input!);
  // Rollouts pass through one at a time; the progress is that of reading, whose end is known.
  const report = await write(call, out, place, reader);
  call.progress.end();
  noteWarnings(call, [reader.report]);
  const { rollouts, bytes, format, dialect, skipped, cutOff } = reader.report;
  const lost: string[] = [];
  if (skipped > 0) lost.push(`${skipped} malformed records left out`);
  if (cutOff) lost.push(`the last record is cut off at line ${cutOff.line}`);
  return {
    json: { input: reader.report, output: { ...report, name: out } },
    text: `${visible(shownName(input!))} (${format}, ${dialect ?? "empty"}, ${bytes} bytes) → ${visible(out)} (${report.format}, ${report.bytes} bytes): ${rollouts} rollouts${lost.map((what) => `; ${what}`).join("")}\n`,
  };
}

export const convert: Command = {
  name: "convert",
  usage: "INPUT OUTPUT [--from DIALECT] [--to FORMAT]",
  summary: "rollouts of a trainer or server into .jsonl, .jsonl.gz, .parquet, .safetensors or .npz",
  about: `Reads rollouts as verl, TRL, vLLM, SGLang or OpenAI-like servers log them, or as this package writes them, and writes the
canonical record. What a source does not have stays absent: nothing is tokenised again and nothing is guessed.`,
  options: { ...WRITE_OPTIONS, ...READ_OPTIONS },
  examples: [
    "surprisal convert dump/100.jsonl rollouts.parquet",
    "surprisal convert responses.jsonl.gz rollouts.jsonl --from vllm",
    "surprisal convert rollouts.parquet - --to jsonl | head -1",
  ],
  files: { least: 1, most: 2, what: "INPUT and OUTPUT" },
  run,
};
