import type { SurprisalError } from "../../../lib";
import { truncatedCompletionMask } from "../../../lib";

const [END, PAD] = [7, 0];

test("a row whose last token is neither an end nor padding is masked", () => {
  const tokens = [1, 2, END, 1, 2, 3, 1, END, PAD, END, PAD, 5];
  const got = truncatedCompletionMask(tokens, { shape: [4, 3], endIds: END, padId: PAD });
  expect([...got.truncated]).toEqual([0, 1, 0, 1]);
  expect([...got.mask]).toEqual([1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0]);
});

test("with a mask the last kept token decides, and the mask stays where the row does", () => {
  const tokens = [1, END, 9, 1, 2, 9, 8, 8, 8];
  const mask = Uint8Array.of(0, 2, 0, 1, 1, 0, 0, 0, 0);
  const got = truncatedCompletionMask(tokens, { shape: [3, 3], endIds: [END, 6], mask });
  expect([...got.truncated]).toEqual([0, 1, 0]);
  expect([...got.mask]).toEqual([0, 1, 0, 0, 0, 0, 0, 0, 0]);
  expect([...mask]).toEqual([0, 2, 0, 1, 1, 0, 0, 0, 0]);
});

test("packed rows; a row without tokens is not truncated", () => {
  const got = truncatedCompletionMask([1, END, 2], { offsets: Int32Array.of(0, 2, 2, 3), endIds: END });
  expect([...got.truncated]).toEqual([0, 0, 1]);
  expect([...got.mask]).toEqual([1, 1, 0]);
  expect(truncatedCompletionMask([], { shape: [0, 3], endIds: END }).truncated).toHaveLength(0);
});

test.each([
  ["no end id", "ERR_SURPRISAL_SHAPE", { endIds: [] }],
  ["a pad id that is none", "ERR_SURPRISAL_RANGE", { padId: 0.5 }],
  ["a mask of another length", "ERR_SURPRISAL_SHAPE", { mask: new Uint8Array(1) }],
  ["a shape that does not fit", "ERR_SURPRISAL_SHAPE", { shape: [1, 2] }],
])("%s: %s", (_, code, wrong) => {
  const options = { shape: [1, 3] as const, endIds: END, ...(wrong as object) };
  expect(() => truncatedCompletionMask([1, 2, 3], options)).toThrow(
    expect.objectContaining({ code }) as SurprisalError,
  );
});
