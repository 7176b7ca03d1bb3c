// What instruction counts predict of CUDA kernels (native/cuda/counts.json, npm run ledger), to stand beside what was measured.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Goal } from "../goals";
import { root } from "../harness/machine";

interface Counts {
  readonly loops: Readonly<Record<string, { readonly sm_90: { readonly predicted: number } }>>;
}

/** The share of the memory's speed that a goal's kernel can reach at best on an H200; undefined for other goals. */
export function predictedShare({ kernel }: Goal): number | undefined {
  if (kernel === undefined) return undefined;
  const { loops } = JSON.parse(readFileSync(join(root, "native/cuda/counts.json"), "utf8")) as Counts;
  return loops[kernel]?.sm_90.predicted;
}
