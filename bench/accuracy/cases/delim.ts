// Spans are integers; their means are sums in float64.
import { countNgrams, findSpans, spanMask, spanMeans } from "../../../lib";
import { type SpanRules, spanMaskOracle, spanMeansOracle, spansOracle } from "../../../test/oracle/delim";
import { momentsOracle } from "../../../test/oracle/reduce";
import { rng } from "../../../test/support/rng";
import { exact, float64Sum } from "../budgets";
import { floats, rowsOf, WIDE_FLOATS } from "../inputs";
import type { Case } from "../measure";

const RULES: SpanRules = { start: [[1], [1, 2]], end: [[3], [2, 3]], includeEnd: "first", unterminated: "keep" };

const VALUES: Readonly<Record<string, (n: number) => ArrayLike<number>>> = {
  random: (n) => rng(31).f64(n, 0, 4),
  "flat, 0.1": (n) => new Float64Array(n).fill(0.1),
  "offset 1e6": (n) => rng(32).f64(n, 1e6, 1e6 + 1),
  "cancelling, ±1e8": (n) =>
    rng(33)
      .f64(n, -1, 1)
      .map((x, i) => x + (i % 2 === 0 ? 1e8 : -1e8)),
};

export default function delimCases(reduced: boolean): Case[] {
  const B = 6;
  const T = reduced ? 60 : 400;
  const tokens = rng(30).i32(B * T, 0, 6);
  const shape = [B, T] as const;
  const { start, end, includeEnd, unterminated } = RULES;
  const rules = { start, end, includeEnd: includeEnd!, unterminated: unterminated! };
  const found = spansOracle(rowsOf(tokens, T), RULES);
  const triples = found.map(({ row, begin, finish }) => [row, begin, finish] as const);
  // Whole rows too: the longest sums.
  const withRows = [...triples, ...Array.from({ length: B }, (_, b) => [b, 0, T] as const)];
  const spans = Int32Array.from(withRows.flat());

  const integers: Case = {
    op: "findSpans, spanMask",
    dtype: "float32",
    input: "random ids",
    want: {
      spans: { values: triples.flat(), budget: exact },
      mask: { values: spanMaskOracle(new Array<number>(B).fill(T), triples), budget: exact },
    },
    run: (backend) => {
      const got = findSpans(tokens, { ...rules, shape, backend });
      return { spans: got.spans, mask: spanMask(got, { shape, backend }) };
    },
  };
  const means = Object.entries(VALUES).flatMap(([input, make]) =>
    WIDE_FLOATS.map((dtype): Case => {
      const values = floats(dtype, make(B * T));
      const rows = rowsOf(values, T);
      const inside = withRows.map(([row, begin, finish]) => rows[row]!.slice(begin, finish));
      const size = spanMeansOracle(
        rows.map((row) => row.map(Math.abs)),
        withRows,
      );
      return {
        op: "spanMeans",
        dtype,
        input,
        // The exact mean, rounded once: a plain sum would have the errors that are looked for.
        want: {
          means: {
            values: inside.map((numbers) => momentsOracle(numbers).mean),
            budget: { ...float64Sum("float64", T, (_, i) => size[i]!), says: "float64 in token order" },
          },
        },
        run: (backend) => ({ means: spanMeans(values, spans, { shape, backend }) }),
      };
    }),
  );
  const mask = rng(34).mask(B * T, 0.9);
  // n-grams as text: what is counted apart there differs in some id.
  const texts = rowsOf(tokens, T).map((row, b) =>
    row.flatMap((_, t) => {
      const at = [t, t + 1, t + 2];
      return at.every((i) => i < T && mask[b * T + i] === 1) ? [at.map((i) => row[i]).join(" ")] : [];
    }),
  );
  const ngrams: Case = {
    op: "countNgrams",
    dtype: "float32",
    input: "random ids, length 3",
    want: {
      totals: { values: texts.map((row) => row.length), budget: exact },
      distinct: { values: texts.map((row) => new Set(row).size), budget: exact },
    },
    run: (backend) => ({ ...countNgrams(tokens, { shape, mask, length: 3, backend }) }),
  };
  return [integers, ngrams, ...means];
}
