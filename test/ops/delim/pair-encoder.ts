// A byte-pair encoder small enough to read, whose merges and ids show what the tokenizers of today's models do to `</answer>`
// and to paragraph breaks. The text is split into words by the usual pattern, then pairs merge, the earliest listed first.

const WORDS = /[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+/gu;

const MERGES = [
  ["\n", "\n"],
  ["<", "/"],
  [".", "</"],
  [" ", "</"],
  [">", "\n"],
  [">", "\n\n"],
  [">", "."],
  [".", "\n\n"],
  [":", "\n\n"],
  ["?", "\n\n"],
  [")", "\n\n"],
  ["a", "n"],
  ["s", "w"],
  ["e", "r"],
  ["an", "sw"],
  ["answ", "er"],
] as const;

/** The ids of these pieces are those of a real vocabulary; other single characters get 100 000 and their code. */
const IDS: Readonly<Record<string, number>> = {
  "\n": 198,
  "\n\n": 271,
  ".\n\n": 382,
  ":\n\n": 1447,
  "?\n\n": 1939,
  ")\n\n": 692,
  "</": 522,
  ".</": 3918,
  " </": 690,
  answer: 9217,
  ">": 29,
  ">\n": 397,
  ">\n\n": 1339,
  ">.": 14276,
};

function mergePairs(word: string): string[] {
  const pieces = Array.from(word);
  for (;;) {
    const rank = MERGES.findIndex(([left, right]) =>
      pieces.some((piece, i) => piece === left && pieces[i + 1] === right),
    );
    if (rank < 0) return pieces;
    const [left, right] = MERGES[rank]!;
    const at = pieces.findIndex((piece, i) => piece === left && pieces[i + 1] === right);
    pieces.splice(at, 2, left + right);
  }
}

export function encode(text: string): number[] {
  const pieces = (text.match(WORDS) ?? []).flatMap(mergePairs);
  return pieces.map((piece) => IDS[piece] ?? 100_000 + piece.codePointAt(0)!);
}
