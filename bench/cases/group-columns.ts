// Baselines per column over the rows of a group.
import type { Budget } from "../accuracy/measure";
import type { Case, Subject } from "../harness/case";
import { errorOf } from "../harness/check";
import { ROLLOUTS } from "../shapes";
import { poison } from "./poison";
import { TOKEN_ROWS, type TokenBatch, tokenBatch } from "./tokens";

const GROUP = 8;
const ONCE: Budget = { says: "1e-6·|x| + 1e-9", allowed: (want) => 1e-6 * Math.abs(want) + 1e-9 };

// A difference of numbers up to 2, rounded once to float32.
const CENTRED: Budget = { says: "1e-6·|x| + 1e-12", allowed: (want) => 1e-6 * Math.abs(want) + 1e-12 };

/** Weighted means over the rows of each group, at every kept token. */
function baselinesOf({ rows, steps, values, others, mask }: TokenBatch): Float64Array {
  const out = new Float64Array(values.length);
  for (let begin = 0; begin < rows; begin += GROUP)
    for (let t = 0; t < steps; ++t) {
      const column = Array.from({ length: GROUP }, (_, k) => (begin + k) * steps + t).filter((i) => mask[i] !== 0);
      const weight = column.reduce((sum, i) => sum + Math.abs(others[i]!), 0);
      const sum = column.reduce((total, i) => total + Math.abs(others[i]!) * values[i]!, 0);
      for (const i of column) out[i] = weight === 0 ? 0 : sum / weight;
    }
  return out;
}

function columnsSubject(rows: number, steps: number): Subject {
  const batch = tokenBatch(rows, steps);
  const { values, others, mask } = batch;
  const n = rows * steps;
  const weights = others.map(Math.abs);
  const groupOffsets = Int32Array.from({ length: rows / GROUP + 1 }, (_, g) => g * GROUP);
  const scratch = [new Float32Array(n), new Float32Array(n)] as const;
  let found: Float64Array | undefined;
  const wanted = (): Float64Array => (found ??= baselinesOf(batch));
  const centred = (): Float64Array => wanted().map((baseline, i) => (mask[i] === 0 ? 0 : values[i]! - baseline));
  return {
    ours: (lib) => {
      const out = { baselines: new Float32Array(n), centred: new Float32Array(n) };
      const options = { shape: [rows, steps] as const, mask, groupOffsets, out, backend: "cpu" as const };
      return {
        name: "groupColumns",
        prepare: () => poison(out.baselines, out.centred),
        run: () => void lib.groupColumns(values, weights, options),
        check: () => ({
          baselines: errorOf(out.baselines, { values: wanted(), budget: ONCE }),
          centred: errorOf(out.centred, { values: centred(), budget: CENTRED }),
        }),
      };
    },
    roof: {
      kind: "read and copy",
      bytes: 17 * n,
      run: (roof, threads) => {
        roof.read([mask], threads);
        roof.copy(scratch[0], values, threads);
        roof.copy(scratch[1], weights, threads);
      },
    },
  };
}

export function columnCases(): Case[] {
  const shape = ROLLOUTS.batch;
  const [rows, steps] = shape.sizes;
  return [
    {
      kernel: "group",
      op: "groupColumns",
      ...TOKEN_ROWS,
      shape,
      least: { bytes: 17 * rows * steps, formula: "17·tokens (4 + 4 + 1 read, 4 + 4 written)" },
      prepare: () => columnsSubject(rows, steps),
    },
  ];
}
