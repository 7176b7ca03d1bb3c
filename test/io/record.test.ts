// The record itself: how many tokens it has, and more fields for it.
import { PER_TOKEN, type Rollout, tokenCount, withFields } from "../../lib/io/record";

test.each(PER_TOKEN)("%s says how many tokens there are, empty ones too", (field) => {
  expect(tokenCount({ [field]: new Float64Array(3) })).toBe(3);
  expect(tokenCount({ [field]: new Float64Array(0) })).toBe(0);
});

test("a list of the likeliest says it where nothing else does; of a text it is not known", () => {
  const topK = { offsets: Int32Array.of(0, 2, 4), logProbs: new Float64Array(4) };
  expect(tokenCount({ topK })).toBe(2);
  expect(tokenCount({ topK, tokenIds: new Int32Array(5) })).toBe(5);
  expect(tokenCount({ text: "three words long", reward: 1 })).toBeUndefined();
});

test("more fields are a copy's, and go before its own", () => {
  const rollout: Rollout = { text: "a", reward: 1 };
  expect(withFields(rollout, { reward: 2, advantage: 3 })).toEqual({ text: "a", reward: 2, advantage: 3 });
  expect(rollout).toEqual({ text: "a", reward: 1 });
});
