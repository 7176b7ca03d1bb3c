// HTML by template: every value is escaped, except markup that was made by a template itself.

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export class Markup {
  constructor(readonly source: string) {}
}

type Value = string | number | Markup | readonly Markup[] | null | undefined;

const written = (value: Value): string => {
  if (value === null || value === undefined) return "";
  if (value instanceof Markup) return value.source;
  if (typeof value === "object") return value.map(({ source }) => source).join("");
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
};

/** Values stand in text or in quoted attributes, nowhere else. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return new Markup(strings.map((text, i) => text + written(values[i])).join(""));
}

export const nothing = new Markup("");
