// Rollouts with any combination of fields, and numbers of every kind.
import fc from "fast-check";
import { type Rollout, TOKEN_FIELDS, type TopK } from "../../lib/io";

/** Every float64, with infinities, NaN, -0 and subnormal numbers often among them. */
const number = fc.oneof(
  fc.double(),
  fc.constantFrom(-0, NaN, Infinity, -Infinity, 5e-324, -1.7976931348623157e308, 0.1),
);
const id = fc.integer({ min: -(2 ** 31) + 1, max: 2 ** 31 - 1 });
const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.constantFrom("\u2028\n\r\t", 'quote " \\ slash', "NaN", "\u0000", "=1+1", ""),
);

const ids = (n: number): fc.Arbitrary<Int32Array> =>
  fc.array(id, { minLength: n, maxLength: n }).map((list) => Int32Array.from(list));
const floats = (n: number): fc.Arbitrary<Float64Array> =>
  fc.array(number, { minLength: n, maxLength: n }).map((list) => Float64Array.from(list));

function topK(T: number): fc.Arbitrary<TopK> {
  return fc.array(fc.nat({ max: 3 }), { minLength: T, maxLength: T }).chain((lengths) => {
    const offsets = new Int32Array(T + 1);
    lengths.forEach((length, t) => {
      offsets[t + 1] = offsets[t]! + length;
    });
    const count = offsets[T]!;
    return fc.record(
      {
        offsets: fc.constant(offsets),
        logProbs: floats(count),
        ids: ids(count),
        tokens: fc.array(text, { minLength: count, maxLength: count }),
      },
      { requiredKeys: ["offsets", "logProbs"] },
    );
  });
}

/** Names that a parser might trip over. */
const key = fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom("__proto__", "constructor", "toString", "a.b"));
// JSON.stringify knows no -0, which has no place among what a source says about a completion.
const meta = fc.jsonValue({ maxDepth: 3 }).map((value) => ({ value: JSON.parse(JSON.stringify(value)) as unknown }));

const rollout: fc.Arbitrary<Rollout> = fc.nat({ max: 5 }).chain((T) =>
  fc.record(
    {
      group: text,
      id: text,
      step: fc.nat(),
      prompt: text,
      text,
      promptIds: fc.nat({ max: 4 }).chain(ids),
      tokenIds: ids(T),
      tokens: fc.array(text, { minLength: T, maxLength: T }),
      topK: topK(T),
      mask: fc.array(fc.nat({ max: 1 }), { minLength: T, maxLength: T }).map((list) => Uint8Array.from(list)),
      ...(Object.fromEntries(TOKEN_FIELDS.map((field) => [field, floats(T)])) as Record<
        (typeof TOKEN_FIELDS)[number],
        fc.Arbitrary<Float64Array>
      >),
      reward: number,
      rewards: fc.dictionary(key, number, { maxKeys: 3, noNullPrototype: true }),
      advantage: number,
      finishReason: text,
      meta,
    },
    { requiredKeys: [] },
  ),
);

export const rollouts = fc.array(rollout, { maxLength: 4 });
