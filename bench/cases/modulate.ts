// Entropy modulation of advantages, over steps and over sequences.
import type { Budget } from "../accuracy/measure";
import type { Library } from "../harness/build";
import type { Case, Subject } from "../harness/case";
import { errorOf } from "../harness/check";
import { ROLLOUTS } from "../shapes";
import { poison } from "./poison";
import { TOKEN_ROWS, type TokenBatch, tokenBatch } from "./tokens";

const ONCE: Budget = { says: "1e-6·|x| + 1e-6", allowed: (want) => 1e-6 * Math.abs(want) + 1e-6 };
const SUMS: Budget = { says: "1e-10·|x|", allowed: (want) => 1e-10 * Math.abs(want) };
const ZETA = 0.1;
/** Tokens of a step, and of step and answer to it. */
const [STEP, TURN] = [200, 256];

/** Steps of 200 tokens, 56 between two of them. */
function stepsOf({ rows, steps }: TokenBatch) {
  const perRow = Math.floor(steps / TURN);
  const spans = Int32Array.from({ length: 3 * rows * perRow }, (_, i) => {
    const s = Math.floor(i / 3);
    const begin = (s % perRow) * TURN;
    return [Math.floor(s / perRow), begin, begin + STEP][i % 3]!;
  });
  const S = rows * perRow;
  return {
    spans,
    scales: Float64Array.from({ length: S }, (_, s) => 0.5 + (s % 97) / 97),
    clarities: Float64Array.from({ length: S }, (_, s) => 1 / (1 + (s % 89) / 89)),
  };
}

function modulated(
  { values, mask, steps }: TokenBatch,
  { spans, scales, clarities }: ReturnType<typeof stepsOf>,
): Float64Array {
  const out = Float64Array.from(values);
  let heads = 0;
  for (let s = 0; s < scales.length; ++s) {
    const [row, begin, finish] = [spans[3 * s]!, spans[3 * s + 1]!, spans[3 * s + 2]!];
    const bonus = spans[3 * s + 3] === row ? ZETA * clarities[s + 1]! : 0;
    for (let i = row * steps + begin; i < row * steps + finish; ++i) out[i] = out[i]! * scales[s]! + bonus;
    heads += out[row * steps + begin]!;
  }
  return out.map((x, i) => (mask[i] === 0 ? x : x - heads / scales.length));
}

function spansSubject(batch: TokenBatch): Subject {
  const { rows, steps, values, mask } = batch;
  const given = stepsOf(batch);
  const scratch = new Float32Array(values.length);
  let found: Float64Array | undefined;
  return {
    ours: (lib: Library) => {
      const advantages = new Float32Array(values.length);
      const { scales, clarities } = given;
      const options = {
        shape: [rows, steps] as const,
        mask,
        scales,
        clarities,
        zeta: ZETA,
        out: { advantages },
        backend: "cpu" as const,
      };
      return {
        name: "modulateSpans",
        prepare: () => poison(advantages),
        run: () => void lib.modulateSpans(values, given.spans, options),
        check: () => ({
          advantages: errorOf(advantages, { values: (found ??= modulated(batch, given)), budget: ONCE }),
        }),
      };
    },
    roof: {
      kind: "streamed copy",
      bytes: 9 * values.length,
      run: (roof, threads) => {
        roof.read([mask], threads);
        roof.copyStreamed(scratch, values, threads);
      },
    },
  };
}

function entropiesOf({ values, mask, rows, steps }: TokenBatch): Float64Array {
  return Float64Array.from({ length: rows }, (_, b) => {
    const kept = values.subarray(b * steps, (b + 1) * steps).filter((_, t) => mask[b * steps + t] !== 0);
    return kept.reduce((sum, x) => sum + x, 0) / kept.length;
  });
}

function rowsSubject(batch: TokenBatch): Subject {
  const { rows, steps, values, mask } = batch;
  const groupOffsets = Int32Array.from({ length: rows / 8 + 1 }, (_, g) => 8 * g);
  let found: Float64Array | undefined;
  return {
    ours: (lib: Library) => {
      let answer: ReturnType<Library["sequenceWeights"]>;
      return {
        name: "sequenceWeights",
        run: () =>
          void (answer = lib.sequenceWeights(values, { shape: [rows, steps], mask, groupOffsets, backend: "cpu" })),
        check: () => ({
          sequenceEntropies: errorOf(answer.sequenceEntropies, {
            values: (found ??= entropiesOf(batch)),
            budget: SUMS,
          }),
        }),
      };
    },
    roof: { kind: "read", bytes: 5 * values.length, run: (roof, threads) => roof.read([values, mask], threads) },
  };
}

export function modulateCases(): Case[] {
  const shape = ROLLOUTS.batch;
  const [rows, steps] = shape.sizes;
  const n = rows * steps;
  const common = { kernel: "modulate", ...TOKEN_ROWS, shape } as const;
  return [
    {
      ...common,
      op: "modulateSpans",
      rowKind: "steps of 200 tokens",
      least: { bytes: 9 * n, formula: "9·tokens (4 + 1 read, 4 written)" },
      prepare: () => spansSubject(tokenBatch(rows, steps)),
    },
    {
      ...common,
      op: "sequenceWeights",
      least: { bytes: 5 * n, formula: "5·tokens (4 + 1 read)" },
      prepare: () => rowsSubject(tokenBatch(rows, steps)),
    },
  ];
}
