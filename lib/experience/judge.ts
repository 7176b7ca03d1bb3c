// What models say about given responses: log-probs, entropies, values. In calls of a few rows each.
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import { type FloatArray, typedArrayName } from "../core/dtype";
import { widestFloat } from "../core/float-arrays";
import { valueError } from "../core/errors";
import { logprob, type Logits } from "../ops/logprob";
import type { Awaitable, CallOptions, ScoringPolicy } from "./adapters";
import { pieces, type Task } from "./bounded";
import { rowCount, type Samples, selectRows } from "./records";

/** One number per response token of some rows. */
type TokenNumbers = Readonly<Record<string, FloatArray>>;

type Ask<Data> = (part: Samples<Data>, options: CallOptions) => Awaitable<TokenNumbers>;

/** What calls answered, in the order of their rows. */
export interface Collected {
  readonly tasks: readonly Task<void>[];
  /** All parts behind each other, once the tasks are done. */
  readonly values: (name: string) => FloatArray;
}

function joined(parts: readonly FloatArray[]): FloatArray {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const all = widestFloat(...parts) === "float64" ? new Float64Array(length) : new Float32Array(length);
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}

/** Numbers as an adapter gave them: as many as tokens, and none of the policy's own tokens NaN. */
function needTokenNumbers<Data>(
  op: string,
  name: string,
  values: FloatArray,
  { tokenIds, mask }: Samples<Data>,
): FloatArray {
  const checked = needFloats(op, name, values, tokenIds.length, "one per response token");
  const wrong = checked.findIndex((value, i) => mask[i] === 1 && Number.isNaN(value));
  if (wrong >= 0) throw valueError(op, `${name}[${wrong}]`, NaN, "a number at each of the policy's tokens");
  return checked;
}

/** Tasks that ask for numbers per token of all rows, `size` rows at a time. */
export function collect<Data>(
  op: string,
  prefix: string,
  samples: Samples<Data>,
  size: number,
  ask: Ask<Data>,
  onRows: (rows: number) => void,
): Collected {
  const B = rowCount(samples);
  const parts: TokenNumbers[] = [];
  const tasks = pieces(B, Math.max(Math.min(size, B), 1)).map(({ begin, end }, i) => async (signal: AbortSignal) => {
    const whole = begin === 0 && end === B;
    const part = whole
      ? samples
      : selectRows(
          samples,
          Array.from({ length: end - begin }, (_, b) => begin + b),
        );
    const answer = await ask(part, { signal });
    for (const [name, values] of Object.entries(answer)) needTokenNumbers(op, `${prefix}${name}`, values, part);
    parts[i] = answer;
    onRows(end - begin);
  });
  return { tasks, values: (name) => joined(parts.map((part) => part[name]!)) };
}

/** A view of [tokens, vocabulary] needs its shape said; a tensor has its own. */
function shapeOf(logits: Logits, tokens: number): { readonly shape?: readonly [number, number] } {
  return ArrayBuffer.isView(logits) && typedArrayName(logits) !== undefined
    ? { shape: [tokens, logits.length / tokens] }
    : {};
}

/** Log-probs, and where the policy gives logits the entropies too. */
export function askPolicy<Data>(policy: ScoringPolicy<Data>, backend: BackendOption): Ask<Data> | undefined {
  if (policy.logits)
    return async (part, options) => {
      const given = await policy.logits!(part, options);
      const { tokenIds, mask } = part;
      if (tokenIds.length === 0) return { logProbs: new Float32Array(0), entropies: new Float32Array(0) };
      const result = logprob(given, tokenIds, { ...shapeOf(given, tokenIds.length), mask: mask, ...backend });
      return { logProbs: result.logProbs, entropies: result.entropies };
    };
  if (policy.logProbs) return async (part, options) => ({ logProbs: await policy.logProbs!(part, options) });
  return undefined;
}
