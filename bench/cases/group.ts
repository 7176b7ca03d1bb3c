// Rewards centred and scaled within their group.
import { unstated } from "../accuracy/budgets";
import type { Budget } from "../accuracy/measure";
import { groupNormalizeOracle } from "../../test/oracle/group";
import { rng } from "../../test/support/rng";
import type { Case, Subject, Work } from "../harness/case";
import type { Errors } from "../record";
import type { Library } from "../harness/build";
import { errorOf } from "../harness/check";
import type { PeerOutput, PeerTask } from "../peers/task";
import { REWARDS, SMALL } from "../shapes";
import { poison } from "./poison";

export const CONVENTIONS = {
  center: "mean",
  scale: "std",
  ddof: 1,
  epsilon: 1e-6,
  varianceFloor: 0,
  singleton: "zero",
  nan: "propagate",
} as const;

const BUDGET: Budget = { says: "1e-6·|x| + 1e-9", allowed: (want) => 1e-6 * Math.abs(want) + 1e-9 };

/** Groups behind one another; size 0: of 2 to 64 items, drawn. */
export function offsetsOf(items: number, size: number): Int32Array {
  const draw = rng(5);
  const offsets = [0];
  while (offsets[offsets.length - 1]! < items)
    offsets.push(offsets[offsets.length - 1]! + (size > 0 ? size : 2 + Math.floor(63 * draw.uniform())));
  return Int32Array.from(offsets.slice(0, -1).concat(items));
}

/** A whole number of groups, so that none is a group of one by accident. */
export function itemsOf(rewards: number, size: number): number {
  return size > 0 ? rewards - (rewards % size) : rewards;
}

/** Rewards and offsets read, normalised rewards and three statistics of each group written. */
function leastBytes(rewards: number, groups: number): number {
  return 8 * rewards + 4 * (groups + 1) + 12 * groups;
}

function workOf(
  values: Float32Array,
  groupOffsets: Int32Array,
  wanted: () => ArrayLike<number>,
  lib: Library,
  backend: "cpu" | "auto" = "cpu",
): Work {
  const groups = groupOffsets.length - 1;
  const out = {
    normalized: new Float32Array(values.length),
    means: new Float32Array(groups),
    stds: new Float32Array(groups),
    counts: new Int32Array(groups),
  };
  const options = { groupOffsets, out, backend };
  return {
    name: "groupNormalize",
    prepare: () => poison(out.normalized, out.means, out.stds),
    run: () => void lib.groupNormalize(values, options),
    check: () => ({ normalized: errorOf(out.normalized, { values: wanted(), budget: BUDGET }) }),
  };
}

export function groupSubject(rewards: number, size: number): Subject {
  const n = itemsOf(rewards, size);
  const values = rng(4).f32(n);
  const offsets = offsetsOf(n, size);
  let oracle: Float64Array | undefined;
  const wanted = (): Float64Array =>
    (oracle ??= groupNormalizeOracle(
      values,
      Array.from(offsets.subarray(1), (end, g) => Array.from({ length: end - offsets[g]! }, (_, k) => offsets[g]! + k)),
      CONVENTIONS,
    ).normalized);
  const bytes = leastBytes(n, offsets.length - 1);
  const copied = rng(6).f32(Math.ceil(bytes / 8));
  const scratch = new Float32Array(copied.length);
  const check = (outputs: Readonly<Record<string, PeerOutput>>): Errors => ({
    normalized: errorOf(outputs["normalized"]!, { values: wanted(), budget: unstated }),
  });
  return {
    ours: (lib) => workOf(values, offsets, wanted, lib),
    roof: { kind: "copy", bytes: 8 * copied.length, run: (roof, threads) => roof.copy(scratch, copied, threads) },
    ...(size > 0 && {
      task: {
        kind: "groupNormalize",
        arrays: { values },
        numbers: { items: n, size, epsilon: 1e-6 },
        check,
      } satisfies PeerTask,
    }),
  };
}

export function groupCases(): Case[] {
  return Object.values(REWARDS).map((shape) => {
    const [rewards, size] = shape.sizes;
    const items = itemsOf(rewards, size);
    return {
      kernel: "group",
      op: "groupNormalize",
      dtype: "float32",
      rowKind: "uniform rewards",
      shape,
      threads: 1,
      quick: shape !== REWARDS.ragged,
      least: {
        bytes: leastBytes(items, offsetsOf(items, size).length - 1),
        formula: "8·rewards + 4·(groups + 1) + 12·groups",
      },
      prepare: () => groupSubject(rewards, size),
    };
  });
}

/** What a call costs when there is next to nothing to compute. */
export function groupOverheadCase(): Case {
  const [, size] = SMALL.group.sizes;
  return {
    kernel: "group",
    op: "groupNormalize, call overhead",
    dtype: "float32",
    rowKind: "uniform rewards",
    shape: SMALL.group,
    threads: 1,
    quick: true,
    prepare: () => {
      const values = rng(4).f32(size);
      const wanted = () => groupNormalizeOracle(values, [Array.from(values, (_, i) => i)], CONVENTIONS).normalized;
      return { ours: (lib) => workOf(values, Int32Array.of(0, size), wanted, lib, "auto") };
    },
  };
}
