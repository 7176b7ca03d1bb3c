// Delimiters that are given as text: the ids of the tokens that spell it.
import { withTextDelimiters } from "../../lib/cli/rollouts/text-delimiters";

const rollout = (tokens: readonly string[], ids: readonly number[]) => ({
  tokens: [...tokens],
  tokenIds: Int32Array.from(ids),
});
const delimiters = (text: string, ...rollouts: ReturnType<typeof rollout>[]) =>
  withTextDelimiters({ thinkEnd: text, end: text, other: text }, rollouts, "x.jsonl");

test("a token of its own is one id for thoughts, and a list of spellings for steps", () => {
  expect(delimiters("</t>", rollout(["a", "</t>", "b"], [1, 2, 3]))).toEqual({
    thinkEnd: 2,
    end: [[2]],
    other: "</t>",
  });
});

test("a text of several tokens is all of them", () => {
  expect(delimiters("</t>", rollout(["a", "</", "t>", "b"], [1, 2, 3, 4]))).toMatchObject({
    thinkEnd: [[2, 3]],
    end: [[2, 3]],
  });
});

test("every spelling counts, also one that begins or ends within a token", () => {
  const spelled = [rollout(["a</", "t>b"], [5, 6]), rollout(["</t>", "x</t>", "</t>"], [2, 7, 2])];
  expect(delimiters("</t>", ...spelled)).toMatchObject({ end: [[5, 6], [2], [7]] });
});

test("what no rollout spells is refused by its flag", () => {
  expect(() => delimiters("<no>", rollout(["a"], [1]))).toThrow(
    /x\.jsonl: --end is the text "<no>", which no rollout has/,
  );
  expect(() => withTextDelimiters({ end: "a" }, [{ text: "a" }], "x.jsonl")).toThrow(
    /--end is the text "a", and no rollout/,
  );
});
