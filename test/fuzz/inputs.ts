// What calls are made of: rows, groups, masks and numbers, plain ones and those at the edges.
import type { Draw } from "./draw";

export interface DrawnRows {
  readonly layout: { readonly shape: readonly [number, number] } | { readonly offsets: Int32Array };
  readonly B: number;
  readonly n: number;
  readonly mask: Uint8Array | undefined;
}

export function drawRows(d: Draw): DrawnRows {
  const B = d.int(1, 5);
  const ragged = d.unit() >= 0.5;
  const T = d.int(1, d.pick([4, 4, 40]));
  const offsets = new Int32Array(B + 1);
  for (let b = 0; b < B; ++b) offsets[b + 1] = offsets[b]! + (ragged ? d.int(0, T) : T);
  const n = offsets[B]!;
  return { layout: ragged ? { offsets } : { shape: [B, T] }, B, n, mask: d.maybe(() => drawMask(d, n)) };
}

export function drawMask(d: Draw, n: number): Uint8Array {
  const share = d.pick([0.2, 0.7, 1, 0]);
  return d.array(new Uint8Array(n), () => (d.unit() < share ? 0 : 1));
}

/** Groups of `items`, by label or by offsets; or all in one. */
export function drawGroups(d: Draw, items: number): { groups?: Int32Array; groupOffsets?: Int32Array } {
  const form = d.pick(["one", "labels", "offsets"]);
  if (form === "labels") return { groups: d.array(new Int32Array(items), () => d.int(0, 3)) };
  if (form === "one" && items > 0) return { groupOffsets: Int32Array.of(0, items) };
  const cuts = Array.from({ length: d.int(0, 3) }, () => d.int(0, items)).sort((a, b) => a - b);
  return { groupOffsets: Int32Array.from([0, ...cuts, items]) };
}

export type FloatMaker = (n: number, kind?: NumberKind) => Float32Array | Float64Array;
type NumberKind = "any" | "logProbs" | "positive" | "finite";

const PLAIN = [0, 1, -1, 0.5, 2, -0.25];
const EDGES = [NaN, Infinity, -Infinity, -0, 1e-30, 100];

function drawNumber(d: Draw, kind: NumberKind, sort: string): number {
  const x =
    sort === "plain"
      ? d.pick(PLAIN)
      : sort === "edges" && kind !== "finite" && d.unit() >= 0.8
        ? d.pick(EDGES)
        : Math.round((d.unit() - 0.5) * 8192) / 1024;
  if (kind === "logProbs") return x === Infinity ? 0 : -Math.abs(x);
  return kind === "positive" ? Math.abs(x) : x;
}

/** Arrays of one call: all of the same type. */
export function floatMaker(d: Draw): FloatMaker {
  const type = d.pick([Float32Array, Float64Array]);
  return (n, kind = "any") => {
    const sort = d.pick(["plain", "real", "real", "edges"]);
    return d.array(new type(n), () => drawNumber(d, kind, sort));
  };
}

/** Rows of logits, of any size up to a few registers and some behind. */
export function drawLogits(d: Draw): { readonly logits: Float32Array; readonly shape: readonly [number, number] } {
  const [N, V] = [d.int(1, 4), d.int(1, d.pick([5, 40, 300]))];
  const sort = d.pick(["plain", "real", "masked"]);
  const logits = d.array(new Float32Array(N * V), () =>
    sort === "masked" && d.unit() >= 0.7 ? -Infinity : drawNumber(d, "finite", sort),
  );
  return { logits, shape: [N, V] };
}
