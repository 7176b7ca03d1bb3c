// An answer without the notation that does not change its value.

const SPACES = /\\[,;:!> ]|\\quad|\\qquad|~/g;
const DRESS = /\\(?:left|right|displaystyle|textstyle|bigl?|bigr|Bigl?|Bigr|limits)(?![a-zA-Z])\s*\.?/g;
/** A unit behind a number, and other text within a formula. */
const UNIT_TEXT = /(?<=[\d})])\s*\\(?:text|mathrm|textrm|mbox)\s*\{[^{}]*\}(?:\^\{?\d\}?)?$/;
const WORDS = /\\(?:text|mathrm|textbf|mathbf|textrm|mbox|operatorname)\s*\{([^{}]*)\}/g;
const UNIT_AFTER_NUMBER =
  /^([+-]?[\d.,]+(?:\s*\/\s*\d+)?)\s*(?:\^?\s*\\?circ|°|\^\{\\circ\}|degrees?|units?|cm|mm|km|kg|seconds?|minutes?|hours?|days?|years?|dollars?|cents?|meters?|inches|feet|people|students)(?:\s*\^?\{?[23]?\}?)$/i;
const SYMBOLS: readonly (readonly [RegExp, string])[] = [
  [/\\[dtc]frac(?![a-zA-Z])/g, "\\frac"],
  [/\\(?:leq|leqslant)(?![a-zA-Z])|≤/g, "\\le "],
  [/\\(?:geq|geqslant)(?![a-zA-Z])|≥/g, "\\ge "],
  [/\\(?:neq)(?![a-zA-Z])|≠/g, "\\ne "],
  [/−|–/g, "-"],
  [/×/g, "\\times "],
  [/·/g, "\\cdot "],
  [/π/g, "\\pi "],
  [/√\s*\(/g, "\\sqrt("],
  [/√\s*(\w)/g, "\\sqrt{$1}"],
  [/∞/g, "\\infty "],
  [/∪/g, "\\cup "],
  [/²/g, "^2"],
  [/³/g, "^3"],
  [/\\%|％/g, "%"],
  [/\\(?:lbrace|\{)/g, "\\{"],
  [/\\(?:rbrace|\})/g, "\\}"],
];

/** The text between the delimiters of a formula that is all there is. */
function unwrapped(text: string): string {
  const match = /^(?:\$\$([\s\S]*)\$\$|\$([^$]*)\$|\\\(([\s\S]*)\\\)|\\\[([\s\S]*)\\\])$/.exec(text);
  return match ? (match[1] ?? match[2] ?? match[3] ?? match[4])!.trim() : text;
}

/** `1,234` and `1{,}234` as `1234`; a list of numbers has blanks or other groups of digits. */
const withoutThousands = (text: string): string =>
  text
    .replaceAll(/(\d)\{,\}(?=\d{3})/g, "$1")
    .replaceAll(/(?<![\d.,\w])\d{1,3}(?:,\d{3})+(?![\d,]|\.\d*,)/g, (number) => number.replaceAll(",", ""));

/** LaTeX or plain text in one notation: LaTeX without spaces of its own, sizes, text commands, currency, units and a final point. */
export function plainNotation(answer: string): string {
  let text = unwrapped(
    answer
      .trim()
      .replace(/(?<!\\)\.$/, "")
      .trim(),
  );
  text = text.replaceAll(SPACES, " ").replaceAll(DRESS, "").replace(UNIT_TEXT, "").replaceAll(WORDS, " $1 ");
  for (const [pattern, plain] of SYMBOLS) text = text.replaceAll(pattern, plain);
  text = text.replaceAll(/\\?\$/g, "").replaceAll(/\s+/g, " ").trim();
  // Inside of brackets a comma stands between parts.
  if (!/[()[\]{}]/.test(text) || /^\{?\d/.test(text)) text = withoutThousands(text);
  const unit = UNIT_AFTER_NUMBER.exec(text);
  return unit ? unit[1]!.trim() : text;
}

/** `x = 5` and `x \in [0, 1)` taken apart. */
export function assignment(text: string): { readonly name: string; readonly value: string } | null {
  const match = /^(\\?[a-zA-Z]+(?:_\{?\w+\}?)?(?:\(\w\))?)\s*(?:=|\\in(?![a-zA-Z]))\s*([^=<>]+)$/.exec(text);
  return match && { name: match[1]!, value: match[2]!.trim() };
}

const FUNCTIONS =
  /(?<![\\a-zA-Z])(sqrt|sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|sinh|cosh|tanh|log|ln|exp|pi|infinity|inf|oo|abs|min|max)(?![a-zA-Z])/g;

/** The same for the symbolic library, which reads LaTeX: function names get their backslash, powers and roots their braces. */
export function toLatex(text: string): string {
  return braced(
    text
      .replaceAll("**", "^")
      .replaceAll(FUNCTIONS, (name) => (/^(?:inf|infinity|oo)$/.test(name) ? "\\infty " : `\\${name} `))
      .replaceAll(/\\(sqrt)\s*\(/g, "\\$1 (")
      .replaceAll("*", "\\cdot "),
  );
}

/** `\sqrt(…)` and `^(…)` with braces, and `^12`, which LaTeX reads as a power of 1. */
function braced(text: string): string {
  let out = "";
  for (let i = 0; i < text.length; ++i) {
    const head = /^(?:\\sqrt\s*|\^\s*)\(/.exec(text.slice(i));
    if (head) {
      const open = i + head[0].length - 1;
      const end = matching(text, open);
      if (end > 0) {
        out += `${head[0].trim().slice(0, -1).trim()}{${braced(text.slice(open + 1, end))}}`;
        i = end;
        continue;
      }
    }
    const digits = /^\^(-?\d{2,}|-\d)/.exec(text.slice(i));
    if (digits) {
      out += `^{${digits[1]}}`;
      i += digits[0].length - 1;
      continue;
    }
    out += text[i]!;
  }
  return out;
}

/** Where the bracket at `open` is closed, −1 if never. Brackets of all kinds count, so that (0, 1] has an end. */
export function matching(text: string, open: number): number {
  let depth = 0;
  for (let i = open; i < text.length; ++i) {
    if ("([{".includes(text[i]!)) ++depth;
    else if (")]}".includes(text[i]!) && --depth === 0) return i;
  }
  return -1;
}
