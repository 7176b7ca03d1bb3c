// EMPG from token ids, entropies and rewards to modulated advantages, in one call.
import { rng } from "../../test/support/rng";
import { unstated } from "../accuracy/budgets";
import type { Budget } from "../accuracy/measure";
import type { Library } from "../harness/build";
import type { Case, Subject, Work } from "../harness/case";
import { errorOf } from "../harness/check";
import type { PeerOutput } from "../peers/task";
import { EPISODES } from "../shapes";
import { END, START } from "./delim";
import { poison } from "./poison";

const ONCE: Budget = { says: "1e-6·|x| + 1e-6", allowed: (want) => 1e-6 * Math.abs(want) + 1e-6 };
const GROUP = 8;
/** Tokens of a step, and of step and answer to it. */
const [STEP, TURN] = [200, 256];
const [ZETA, EPSILON, GROUP_EPSILON] = [0.1, 1e-8, 1e-6];

interface Episodes {
  readonly rows: number;
  readonly steps: number;
  readonly tokens: Int32Array;
  readonly entropies: Float32Array;
  readonly rewards: Float32Array;
}

/** Where step s of a row lies: behind its start, its end included. */
const beginOf = (s: number): number => s * TURN + START.length;
const finishOf = (s: number): number => beginOf(s) + STEP;

function episodesOf(rows: number, steps: number): Episodes {
  const draw = rng(12);
  const tokens = draw.i32(rows * steps, 2000, 100_000);
  const perRow = Math.floor(steps / TURN);
  for (let b = 0; b < rows; ++b)
    for (let s = 0; s < perRow; ++s) {
      tokens.set(START, b * steps + s * TURN);
      tokens.set(END, b * steps + finishOf(s) - END.length);
    }
  const level = draw.f32(rows * perRow, 0, 2);
  const entropies = draw.f32(rows * steps, 0, 0.5);
  for (let i = 0; i < entropies.length; ++i) {
    const [b, s] = [Math.floor(i / steps), Math.min(Math.floor((i % steps) / TURN), perRow - 1)];
    entropies[i] = entropies[i]! + level[b * perRow + s]!;
  }
  return { rows, steps, tokens, entropies, rewards: draw.f32(rows) };
}

/** The definition: normalised rewards, mean entropies of steps, min-max, weights, modulation, and the mean at first tokens. */
function wantedOf({ rows, steps, entropies, rewards }: Episodes): Float64Array {
  const perRow = Math.floor(steps / TURN);
  const means = Float64Array.from({ length: rows * perRow }, (_, k) => {
    const at = Math.floor(k / perRow) * steps;
    const step = entropies.subarray(at + beginOf(k % perRow), at + finishOf(k % perRow));
    return step.reduce((sum, x) => sum + x, 0) / STEP;
  });
  const [low, high] = [means.reduce((a, b) => Math.min(a, b)), means.reduce((a, b) => Math.max(a, b))];
  const weights = means.map((x) => Math.exp(-(x - low) / (high - low + EPSILON)));
  const mean = weights.reduce((sum, x) => sum + x, 0) / weights.length + EPSILON;
  const out = new Float64Array(rows * steps);
  for (let b = 0; b < rows; ++b) {
    const group = rewards.subarray(b - (b % GROUP), b - (b % GROUP) + GROUP);
    const centre = group.reduce((sum, x) => sum + x, 0) / GROUP;
    const spread = Math.sqrt(group.reduce((sum, x) => sum + (x - centre) ** 2, 0) / (GROUP - 1));
    out.fill((rewards[b]! - centre) / (spread + GROUP_EPSILON), b * steps, (b + 1) * steps);
  }
  let heads = 0;
  for (let k = 0; k < means.length; ++k) {
    const [at, s] = [Math.floor(k / perRow) * steps, k % perRow];
    const bonus = s + 1 < perRow ? ZETA * weights[k + 1]! : 0;
    for (let i = at + beginOf(s); i < at + finishOf(s); ++i) out[i] = out[i]! * (weights[k]! / mean) + bonus;
    heads += out[at + beginOf(s)]!;
  }
  return out.map((x) => x - heads / means.length);
}

export function empgSubject(rows: number, steps: number): Subject {
  const given = episodesOf(rows, steps);
  const { tokens, entropies, rewards } = given;
  const groupOffsets = Int32Array.from({ length: rows / GROUP + 1 }, (_, g) => GROUP * g);
  let found: Float64Array | undefined;
  const errors = (advantages: PeerOutput, budget: Budget) => ({
    advantages: errorOf(advantages, { values: (found ??= wantedOf(given)), budget }),
  });
  const ours = (lib: Library): Work => {
    const advantages = new Float32Array(tokens.length);
    const batch = { tokens, entropies, rewards, groupOffsets, shape: [rows, steps] as const };
    const options = {
      start: START,
      end: END,
      zeta: ZETA,
      epsilon: EPSILON,
      grpoAdvantage: { epsilon: GROUP_EPSILON },
      scope: "all",
      out: { advantages },
      backend: "cpu",
    } as const;
    return {
      name: "EMPG",
      prepare: () => poison(advantages),
      run: () => void lib.empgAdvantage(batch, options),
      check: () => errors(advantages, ONCE),
    };
  };
  const [start0, start1, start2] = START;
  return {
    ours,
    task: {
      kind: "empg",
      arrays: { tokens, entropies, rewards },
      numbers: {
        rows,
        steps,
        group: GROUP,
        groupEpsilon: GROUP_EPSILON,
        zeta: ZETA,
        epsilon: EPSILON,
        start0,
        start1,
        start2,
        end: END[0],
      },
      check: (outputs) => errors(outputs["advantages"]!, unstated),
    },
  };
}

export function empgCase(): Case {
  const [rows, steps] = EPISODES.million.sizes;
  return {
    kernel: "modulate",
    op: "empgAdvantage, end to end",
    dtype: "float32",
    rowKind: "steps of 200 tokens",
    shape: EPISODES.million,
    threads: 1,
    quick: true,
    prepare: () => empgSubject(rows, steps),
  };
}
