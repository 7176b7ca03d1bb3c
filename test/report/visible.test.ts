import fc from "fast-check";
import { clipped, label, visible } from "../../lib/report/visible";

test("ordinary text of any script stays as it is", () => {
  for (const text of ["plain <b> & 'quotes'", "日本語", "عربى", "नमस्ते", "é e\u0301", "👍🏽", "a b", ""])
    expect(visible(text)).toBe(text);
});

test.each([
  ["\n", "↵"],
  ["\t", "⇥"],
  ["\u001B[31m", "␛[31m"],
  ["\u007F", "␡"],
  ["\u202Eabc", "⟨U+202E⟩abc"],
  ["a\u2028b", "a⟨U+2028⟩b"],
  ["\uD800", "⟨U+D800⟩"],
  ["\u200B", "⟨U+200B⟩"],
  ["\u{E0041}", "⟨U+E0041⟩"],
  ["\u0301a", "◌\u0301a"],
])("%j becomes %j", (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test("nothing that acts is left, whatever comes in", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), (binary, graphemes) => {
      const shown = visible(binary + graphemes);
      expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(shown).not.toMatch(/\p{M}{6}/u);
      expect(visible(shown)).toBe(shown);
    }),
  );
});

test("long text is cut between characters, and says how much is left", () => {
  expect(clipped("👍👍👍", 2)).toEqual({ text: "👍👍", left: 1 });
  expect(clipped("ab", 2)).toEqual({ text: "ab", left: 0 });
  expect(label("x".repeat(100), 5)).toBe("xxxxx…");
});
