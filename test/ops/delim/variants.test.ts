import { type DelimiterVariant, delimiterVariants, findSpans } from "../../../lib";
import { encode } from "./pair-encoder";

const CLOSE = "</answer>";

function withIds(variants: readonly DelimiterVariant[], ...ids: number[]): DelimiterVariant | undefined {
  return variants.find((variant) => String(variant.ids) === String(ids));
}

describe("a byte-pair encoder", () => {
  test("the encoder of these tests shows the known merges", () => {
    expect(encode(CLOSE)).toEqual([522, 9217, 29]);
    expect(encode(`${CLOSE}\n`)).toEqual([522, 9217, 397]);
    expect(encode(`${CLOSE}\n\n`)).toEqual([522, 9217, 1339]);
    expect(encode(`${CLOSE}.`)).toEqual([522, 9217, 14276]);
    expect(encode(`.${CLOSE}`)).toEqual([3918, 9217, 29]);
    expect(["\n\n", ".\n\n", ":\n\n", "?\n\n", ")\n\n"].map(encode)).toEqual([[271], [382], [1447], [1939], [692]]);
  });

  test("a closing tag has one variant for each way its ends merge, and each says what it holds besides", () => {
    const variants = delimiterVariants(CLOSE, encode);
    expect(variants[0]).toEqual({ ids: [522, 9217, 29], before: "", after: "" });
    expect(withIds(variants, 522, 9217, 397)).toMatchObject({ before: "", after: "\n" });
    expect(withIds(variants, 522, 9217, 1339)).toMatchObject({ before: "", after: "\n\n" });
    expect(withIds(variants, 522, 9217, 14276)).toMatchObject({ before: "", after: "." });
    expect(withIds(variants, 3918, 9217, 29)).toMatchObject({ before: ".", after: "" });
    expect(withIds(variants, 3918, 9217, 397)).toMatchObject({ before: ".", after: "\n" });
    expect(withIds(variants, 690, 9217, 1339)).toMatchObject({ before: " ", after: "\n\n" });
    expect(new Set(variants.map(({ ids }) => String(ids))).size).toBe(variants.length);
    // Three first ids ("</", ".</", " </") and four last ids (">", ">\n", ">\n\n", ">.").
    expect(variants).toHaveLength(12);
  });

  test("a paragraph break hides in the punctuation ahead of it", () => {
    const variants = delimiterVariants("\n\n", encode);
    expect(variants[0]).toEqual({ ids: [271], before: "", after: "" });
    expect(withIds(variants, 382)).toMatchObject({ before: ".", after: "" });
    expect(withIds(variants, 1447)).toMatchObject({ before: ":", after: "" });
    expect(withIds(variants, 1939)).toMatchObject({ before: "?", after: "" });
    expect(withIds(variants, 692)).toMatchObject({ before: ")", after: "" });
  });

  test("every variant encodes exactly the delimiter and what it names around it", () => {
    for (const text of [CLOSE, "<answer>", "\n\n", "Step", "##"])
      for (const { ids, before, after } of delimiterVariants(text, encode))
        expect(encode(before + text + after)).toEqual(ids);
  });

  test("without straddling only clean cuts are listed", () => {
    expect(delimiterVariants(CLOSE, encode, { straddling: false })).toEqual([
      { ids: [522, 9217, 29], before: "", after: "" },
    ]);
  });

  test("contexts of one's own replace the others, the delimiter alone stays", () => {
    const variants = delimiterVariants(CLOSE, encode, { contexts: { before: ["."], after: [] } });
    expect(variants.map(({ ids }) => ids)).toEqual([
      [522, 9217, 29],
      [3918, 9217, 29],
    ]);
  });

  test("the variants find every occurrence that plain ids miss", () => {
    const text = `<answer>12${CLOSE}\nNo, wait.\n<answer>It is 7.${CLOSE}. So\n\n<answer>7${CLOSE}`;
    const tokens = encode(text);
    const start = delimiterVariants("<answer>", encode);
    const end = delimiterVariants(CLOSE, encode);
    const found = findSpans(tokens, { start, end, backend: "js" });
    expect(found.count).toBe(3);
    expect(Array.from(found.endAlternatives, (k) => [end[k]!.before, end[k]!.after])).toEqual([
      ["", "\n"],
      [".", "."],
      ["", ""],
    ]);
    expect(findSpans(tokens, { start, end: encode(CLOSE), backend: "js" }).count).toBeLessThan(3);
  });
});

describe("other encoders", () => {
  test("one that puts a blank ahead of every text: the ids inside a text and at its begin are both there", () => {
    // SentencePiece fashion: "▁" stands for a blank, one is added in front.
    const vocabulary = ["▁</", "</", "▁", "a", ">", "\n", "."];
    const pieces = (text: string): number[] => {
      const ids: number[] = [];
      for (let rest = text; rest !== "";) {
        const id = vocabulary.findIndex((piece) => rest.startsWith(piece));
        const taken = id < 0 ? Array.from(rest)[0]! : vocabulary[id]!;
        ids.push(id < 0 ? 100 + taken.codePointAt(0)! : id);
        rest = rest.slice(taken.length);
      }
      return ids;
    };
    const withBlank = (text: string) => (text === "" ? [] : pieces(`▁${text.replaceAll(" ", "▁")}`));
    const variants = delimiterVariants("</a>", withBlank);
    expect(withIds(variants, 0, 3, 4)).toEqual({ ids: [0, 3, 4], before: "", after: "" });
    expect(withIds(variants, 1, 3, 4)).toEqual({ ids: [1, 3, 4], before: "", after: "" });
    expect(variants).toHaveLength(2);
  });

  test("one id for the whole tag gives one variant", () => {
    const special = (text: string) => text.split(/(<end>)/).flatMap((part) => (part === "<end>" ? [7] : encode(part)));
    expect(delimiterVariants("<end>", special)).toEqual([{ ids: [7], before: "", after: "" }]);
  });

  test("a character of several ids is never cut", () => {
    const bytes = (text: string) => Array.from(Buffer.from(text, "utf8"));
    expect(delimiterVariants("🙂é", bytes)).toEqual([{ ids: bytes("🙂é"), before: "", after: "" }]);
    expect(delimiterVariants("x", bytes, { contexts: { before: ["🙂"], after: ["🙂"] } })).toHaveLength(1);
  });

  test("a context in which the cut cannot be proven is passed over", () => {
    // Encodes a text by its length alone: no beginning of the text gives the beginning of the ids.
    const opaque = (text: string) => (text === "" ? [] : [text.length, text.length + 1, text.length + 2]);
    expect(delimiterVariants("ab", opaque)).toEqual([{ ids: [2, 3, 4], before: "", after: "" }]);
  });

  test("ids may come as Int32Array", () => {
    expect(delimiterVariants(CLOSE, (text) => Int32Array.from(encode(text)))).toEqual(delimiterVariants(CLOSE, encode));
  });
});

describe("bad input", () => {
  const code = (name: string): Error =>
    expect.objectContaining({ name: "SurprisalError", code: `ERR_SURPRISAL_${name}` }) as Error;

  test("special tokens are refused with the way out", () => {
    const run = () => delimiterVariants(CLOSE, (text) => [1, ...encode(text)]);
    expect(run).toThrow(code("VALUE"));
    expect(run).toThrow("turn the tokenizer's special tokens off");
  });

  test.each<[string, () => unknown, string]>([
    ["an empty text", () => delimiterVariants("", encode), "OPTION"],
    ["no text", () => delimiterVariants(undefined as unknown as string, encode), "OPTION"],
    ["no encoder", () => delimiterVariants("a", {} as unknown as typeof encode), "OPTION"],
    [
      "a text as context",
      () => delimiterVariants("a", encode, { contexts: { before: "." as unknown as string[] } }),
      "OPTION",
    ],
    [
      "a number among contexts",
      () => delimiterVariants("a", encode, { contexts: { after: [1 as unknown as string] } }),
      "OPTION",
    ],
    ["a number as straddling", () => delimiterVariants("a", encode, { straddling: 1 as unknown as boolean }), "OPTION"],
    ["an encoder without ids", () => delimiterVariants("a", () => []), "VALUE"],
    ["an encoder that answers text", () => delimiterVariants("a", (text) => text as unknown as number[]), "DTYPE"],
    ["an encoder that answers fractions", () => delimiterVariants("a", (text) => (text ? [0.5] : [])), "RANGE"],
  ])("%s: refused", (_, run, name) => {
    expect(run).toThrow(code(name));
  });

  test("an error of the encoder comes out as it is", () => {
    const broken = new RangeError("no such merge");
    expect(() =>
      delimiterVariants("a", () => {
        throw broken;
      }),
    ).toThrow(broken);
  });
});
