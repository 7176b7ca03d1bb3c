// What a page about an op, an estimator or a loss has to have, and where papers are listed.

/** The sections of every such page, beside those of its own. */
const SECTIONS = ["Shapes and options", "Where systems differ", "Edges", "Precision", "Sources", "Example"] as const;

/** The page on security is about what programs may not do, and has its own parts. */
const ABOUT_FUNCTIONS = /^docs\/(?:(?:ops|advantage|loss|reward|control)\/(?!security\.)[^/]+|collective)\.md$/;

/** Whether the page at this path is about functions. */
export const isFunctionPage = (path: string): boolean => ABOUT_FUNCTIONS.test(path);

/** A line that begins with four spaces, outside of fenced code. */
function hasFormula(text: string): boolean {
  return /^ {4}\S/m.test(text.replaceAll(/^```[\s\S]*?^```/gm, ""));
}

/** What a page lacks: sections, the units, the formula, an example (test/docs runs it). */
export function missingParts(path: string, text: string): string[] {
  const missing = SECTIONS.filter((section) => !text.includes(`\n## ${section}\n`)).map(
    (section) => `${path}: no section "${section}"`,
  );
  if (!/^Units: /m.test(text)) missing.push(`${path}: no line "Units: …"`);
  if (!/\n## Example\n[\s\S]*^```js\n/m.test(text)) missing.push(`${path}: no program in section "Example"`);
  if (!hasFormula(text)) missing.push(`${path}: no formula, indented by four spaces`);
  return missing;
}

/** Functions that no page names. */
export function unnamed(functions: readonly string[], pages: readonly string[]): string[] {
  const words = new Set(pages.flatMap((text) => text.match(/[A-Za-z][A-Za-z0-9]*/g) ?? []));
  return functions.filter((name) => !words.has(name));
}

/** The anchor that a heading has. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}

export const anchorsOf = (text: string): Set<string> =>
  new Set(Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading]) => anchorOf(heading!)));

export interface Link {
  /** Relative to the page; empty for the page itself. */
  readonly file: string;
  /** Without #; empty for none. */
  readonly anchor: string;
}

/** Links of a page within the repository. */
export function linksOf(text: string): Link[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, "");
  return Array.from(prose.matchAll(/\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)/g), ([, file, anchor]) => ({
    file: file!,
    anchor: anchor ?? "",
  }));
}

const NAME = String.raw`[A-Z][\p{L}-]+`;
const CITATION = new RegExp(
  String.raw`(${NAME})(?:(?:, ${NAME})*,? and ${NAME}|\s+et\s+al\.)?\s+((?:19|20)\d\d)(?=[,:;.)*| ]|$)`,
  "gu",
);

/** A month and a year are a date. */
const MONTHS = /^(?:January|February|March|April|May|June|July|August|September|October|November|December)$/;

/** Publications that a text cites, as "Surname year". */
export function citationsOf(text: string): string[] {
  const prose = text.replaceAll(/\n\s*\*?\s*/g, " ");
  const cited = Array.from(prose.matchAll(CITATION)).filter(([, surname]) => !MONTHS.test(surname!));
  return cited.map(([, surname, year]) => `${surname} ${year}`);
}
