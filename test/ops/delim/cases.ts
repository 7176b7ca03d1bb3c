// Random rows and rules over a small alphabet, where delimiters overlap themselves and one another all the time.
import type { FindSpansOptions, Spans } from "../../../lib";
import type { FoundSpan, SpanRules } from "../../oracle/delim";
import { type Rng, rng } from "../../support/rng";

export interface SpanCase {
  rows: number[][];
  rules: SpanRules;
  tokens: Int32Array;
  layout: Pick<FindSpansOptions, "shape" | "offsets" | "lengths">;
}

function pick(r: Rng, below: number): number {
  return Math.floor(r.uniform() * below);
}

/** Rows behind one another, as packed arrays, or as padded ones: padding is drawn from the same alphabet, so it would match. */
function lay(r: Rng, rows: readonly number[][], alphabet: number): Pick<SpanCase, "tokens" | "layout"> {
  if (r.uniform() < 0.5) {
    const offsets = new Int32Array(rows.length + 1);
    rows.forEach((row, b) => (offsets[b + 1] = offsets[b]! + row.length));
    return { tokens: Int32Array.from(rows.flat()), layout: { offsets } };
  }
  const T = Math.max(0, ...rows.map((row) => row.length)) + pick(r, 3);
  const tokens = rows.flatMap((row) => [...row, ...r.i32(T - row.length, 0, alphabet)]);
  return {
    tokens: Int32Array.from(tokens),
    layout: { shape: [rows.length, T], lengths: rows.map((row) => row.length) },
  };
}

/** Rows of up to `longest` tokens; every option, one to three alternatives of one to three ids. */
export function randomCase(seed: number, longest: number): SpanCase {
  const r = rng(seed);
  const alphabet = 2 + pick(r, 4);
  const ids = () => Array.from(r.i32(1 + pick(r, 3), 0, alphabet));
  const delimiter = () => Array.from({ length: 1 + pick(r, 3) }, ids);
  const rows = Array.from({ length: pick(r, 5) }, () => Array.from(r.i32(pick(r, longest + 1), 0, alphabet)));
  const rules: SpanRules = {
    start: delimiter(),
    end: delimiter(),
    ...(r.uniform() < 0.4 && { head: delimiter() }),
    overlapping: r.uniform() < 0.5,
    includeEnd: (["all", "first", "none"] as const)[pick(r, 3)]!,
    unterminated: r.uniform() < 0.5 ? "drop" : "keep",
    startsOpen: r.uniform() < 0.4,
  };
  return { rows, rules, ...lay(r, rows, alphabet) };
}

/** findSpans' answer in the oracle's words. */
export function listed(found: Spans): FoundSpan[] {
  return Array.from({ length: found.count }, (_, s) => ({
    row: found.rows[s]!,
    begin: found.begins[s]!,
    finish: found.finishes[s]!,
    startAlternative: found.startAlternatives[s]!,
    endAlternative: found.endAlternatives[s]!,
  }));
}

/** [begin, finish] of every span. */
export function ranges(found: Spans): number[][] {
  return Array.from(found.begins, (begin, s) => [begin, found.finishes[s]!]);
}
