// Logits in a tensor file → entropies and log-probs, in the memory that the file needs and no more.
import { SurprisalError } from "../../core/errors";
import { type FileTensor, readTensors, writeTensors } from "../../io";
import { logprobAsync } from "../../ops/logprob";
import { backendOf } from "../backend-option";
import { type Figures, figuresOf } from "../rollouts/figures";
import { needName } from "../shell/arguments";
import type { Answer, Call, OptionSpecs } from "../shell/command";
import { UsageError } from "../shell/exit-codes";
import { brief, table, wrote } from "../shell/table";

export const LOGITS_OPTIONS: OptionSpecs = {
  logits: {
    value: "NAME",
    text: 'of a tensor file: the array with the logits, [..., vocabulary]. Default "logits", or the only one',
  },
  targets: { value: "NAME", text: "of a tensor file: the array with one id a row, whose log-prob is wanted" },
  temperature: { value: "NUMBER", text: "of a tensor file: divides the logits. Default 1" },
  out: { value: "FILE", short: "o", text: "of a tensor file: entropies (and logprobs) as .npz or .safetensors" },
};

function chooseLogits(names: readonly string[], asked: string | undefined, file: string): string {
  if (asked !== undefined) return needName("--logits", asked, names);
  if (names.includes("logits")) return "logits";
  if (names.length === 1) return names[0]!;
  throw new UsageError(`${file} has no array "logits"; --logits names one of ${names.join(", ")}`, {
    name: "--logits",
  });
}

/** Logits as the op takes them: float64 is rounded to float32, which the answer says. */
function asLogits(name: string, { data, dtype, shape }: FileTensor) {
  if (shape.length < 2)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${name} has shape [${shape.join(", ")}], expected [..., vocabulary]`,
      { name },
    );
  if (dtype === "float64") return { data: Float32Array.from(data as Float64Array), dtype: "float32", shape } as const;
  if (dtype === "float32") return { data: data as Float32Array, dtype, shape } as const;
  if (dtype === "float16" || dtype === "bfloat16") return { data: data as Uint16Array, dtype, shape } as const;
  throw new SurprisalError(
    "ERR_SURPRISAL_DTYPE",
    `${name} is ${dtype}, expected float32, float16, bfloat16 or float64`,
    { name, got: dtype },
  );
}

function asTargets(name: string, { data, dtype }: FileTensor): Int32Array | BigInt64Array {
  if (dtype === "int64") return data as BigInt64Array;
  if (dtype === "int32") return data as Int32Array;
  throw new SurprisalError("ERR_SURPRISAL_DTYPE", `${name} is ${dtype}, expected int32 or int64`, { name, got: dtype });
}

function needTemperature(text: string | undefined): number {
  const value = Number(text ?? 1);
  if (!(value > 0) || !Number.isFinite(value))
    throw new UsageError(`--temperature is "${text}", expected a number > 0`, { name: "--temperature", got: text });
  return value;
}

export async function entropiesOfLogits(call: Call): Promise<Answer> {
  const { args, signal, outputs, progress } = call;
  const [file, ...more] = args.files;
  if (more.length > 0)
    throw new UsageError(`one tensor file at a time, got ${args.files.length}`, { got: args.files.length });
  const temperature = needTemperature(args.text("temperature"));
  const backend = backendOf(args);
  const out = args.text("out");
  const place = out === undefined ? undefined : await outputs.add(out);
  progress.start("reading logits", "tensors");
  const { tensors } = await readTensors(file!, { signal });
  const names = Object.keys(tensors);
  const name = chooseLogits(names, args.text("logits"), file!);
  const asked = args.text("targets");
  const targets = asked === undefined ? null : asTargets(asked, tensors[needName("--targets", asked, names)]!);
  const logits = asLogits(name, tensors[name]!);
  const rows = logits.shape.slice(0, -1).reduce((product, size) => product * size, 1);
  progress.start("computing", "rows", rows);
  const { entropies, logProbs } = await logprobAsync(logits, targets, {
    temperature,
    signal,
    backend,
  });
  progress.end();
  const shape = logits.shape.slice(0, -1);
  if (place !== undefined) {
    const tensor = (data: Float32Array): FileTensor => ({ dtype: "float32", shape, data });
    const written = { entropies: tensor(entropies) };
    await writeTensors(place, targets ? { ...written, logprobs: tensor(logProbs) } : written, { signal });
  }
  const results: Record<string, Figures> = { entropies: figuresOf(entropies) };
  if (targets) results["logProbs"] = figuresOf(logProbs);
  return {
    json: {
      file,
      logits: { name, shape: logits.shape, dtype: tensors[name]!.dtype },
      temperature,
      rows,
      ...results,
      outputs: outputs.names,
    },
    text:
      table(
        [`${file}: ${name}`, "rows", "mean", "std", "min", "max"],
        Object.entries(results).map(([what, { count, mean, std, min, max }]) => [
          what,
          String(count),
          ...[mean, std, min, max].map(brief),
        ]),
      ) + wrote(outputs.names),
  };
}
