// Of an enum of forms: in TypeScript the options of each, in the ranges of their numbers; on the page of the family a table.
import { formOf, optionsOf, rangeOf } from "./forms.mjs";
import { camelCase, typeName } from "./names.mjs";
import { Refusal } from "./refusal.mjs";

/** An option that is left out is no NULL. */
const withoutNull = (comment) => comment.replace(/ or NULL(?: = \w+)?/, "");

/** For lib/backend/contract. `spelled`: the items with their words; `documented` and `arrayType` as emit-types.mjs has them. */
export function formsText(choice, spelled, { structs, ops }, { documented, arrayType }) {
  const type = typeName(choice.name);
  const { numbers, arrays } = optionsOf(choice, structs, ops);
  const line = (name, optional) => {
    const array = arrays.get(name);
    const field = array ?? numbers.fields.find((each) => each.name === name);
    const several = arrays.get(`${name}s`); // in its place, one for each row or token
    const type = array ? arrayType(array) : several ? `number | ${arrayType(several)}` : "number";
    return `${documented(array ? withoutNull(field.comment) : field.comment, numbers)}readonly ${camelCase(name)}${optional ? "?" : ""}: ${type};`;
  };
  const members = spelled.map((item) => {
    const { words, needs, takes } = formOf(item);
    const lines = [...needs.map((name) => line(name, false)), ...takes.map((name) => line(name, true))];
    return `| {\n${documented(words, numbers)}readonly form: "${item.word}";\n${lines.join("\n")}\n}`;
  });
  const names = (list) => `[${list.map((name) => JSON.stringify(camelCase(name))).join(", ")}]`;
  const entries = spelled.map((item) => {
    const { needs, takes } = formOf(item);
    return `${item.word}: { needs: ${names(needs)}, takes: ${names(takes)} },`;
  });
  return `/** A form with the options that it reads. */
export type ${type}Options =
${members.join("\n")};
/** The names of what each reads beside the numbers of all. */
export const ${choice.name.replace(/^srp_/, "").toUpperCase()}_OPTIONS: Readonly<Record<${type}, { readonly needs: readonly string[]; readonly takes: readonly string[] }>> = {
${entries.join("\n")}
};`;
}

/** What the numbers of forms may be, and what they are where nobody says. */
export function rangesText(struct) {
  const constant = struct.name.replace(/^srp_/, "").toUpperCase();
  const type = typeName(struct.name);
  const each = struct.fields.map((field) => ({ name: camelCase(field.name), ...rangeOf(field) }));
  return `/** What each number of ${struct.name} may be. */
export const ${constant} = {
${each.map(({ name, range }) => `${name}: ${JSON.stringify(range)},`).join("\n")}
} as const;
/** What \`read\` makes of what is said, of each. By name: a loop over names takes much longer. */
export const read${type} = (
  options: Partial<Record<keyof ${type}, unknown>>,
  read: (name: keyof ${type}, value: unknown) => number | undefined,
): ${type} => ({
${each.map(({ name, default: value }) => `${name}: (options.${name} === undefined ? undefined : read("${name}", options.${name})) ?? ${value},`).join("\n")}
});`;
}

/** The table of a page between `<!-- srp_loss_form: ... -->` and `<!-- end -->`. */
export function withFormTable(path, page, choice, spelled) {
  const place = new RegExp(`(<!-- ${choice.name}: .*? -->\n)[^]*?(<!-- end -->)`);
  if (!place.test(page))
    throw new Refusal(
      choice,
      `${path} has no place for the forms of ${choice.name}`,
      `<!-- ${choice.name}: ... --> and <!-- end -->`,
    );
  const prose = (text) =>
    text
      .replace(/\b[a-z]+(?:_[a-z]+)+\b/g, camelCase)
      .replace(/(?<![A-Za-z])-/g, "−")
      .replaceAll("|", "\\|");
  const options = (names) => names.map((name) => `\`${camelCase(name)}\``).join(", ");
  const rows = spelled.map((item) => {
    const { loss, slope, needs, takes } = formOf(item);
    return [`\`"${item.word}"\``, prose(loss), prose(slope), options(needs), options(takes)];
  });
  const head = ["form", "loss", "g", "needs", "takes"];
  const table = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return page.replace(place, `$1\n${table.join("\n")}\n\n$2`);
}
