// lib/backend/contract/<family>.ts: the args of a family's ops, the words of its enums and its constants.
import { formsText, rangesText } from "./emit-forms.mjs";
import { formOf, isOfForms, optionsOf } from "./forms.mjs";
import { camelCase, familiesOf, plural, typeName, word } from "./names.mjs";

const DTYPES = {
  SRP_F32: ["float32", "Float32Array"],
  SRP_F16: ["float16", "Uint16Array"],
  SRP_BF16: ["bfloat16", "Uint16Array"],
  SRP_F64: ["float64", "Float64Array"],
  SRP_I32: ["int32", "Int32Array"],
  SRP_U8: ["uint8", "Uint8Array"],
  SRP_I64: ["int64", "BigInt64Array"],
};

/** Kinds of arrays that have a name in lib/core/dtype.ts. */
const NAMED = {
  "Float32Array | Float64Array": "FloatArray",
  "Float32Array | Uint16Array": "LogitArray",
  "Float32Array | Uint16Array | Float64Array": "WideLogitArray",
};

/** The files of all families, [{family, text}]. */
export function typeFiles(model, heading) {
  const { ops, enums, structs } = model;
  return familiesOf(ops).map((family) => {
    const file = `native/include/surprisal/${family}.h`;
    const own = ops.filter((op) => op.family === family);
    const nested = [...structs.values()].filter((struct) => struct.file === file && isNested(struct, ops));
    const choices = enums.filter((each) => each.file === file);
    const forms = choices.filter(isOfForms);
    const ranged = new Set(forms.map((choice) => optionsOf(choice, structs, ops).numbers));
    const parts = [
      ...choices.map(enumText),
      ...nested.map((struct) =>
        interfaceOf(
          struct,
          struct.fields.map((field) => numberLine(field, struct)),
        ),
      ),
      ...forms.map((choice) => formsText(choice, spelledItems(choice), model, { documented, arrayType })),
      ...[...ranged].map(rangesText),
      ...own.map((op) => argsText(op)),
      `export interface ${typeName(family)}Ops {\n${own.map((op) => `${camelCase(op.name)}(args: ${typeName(op.struct.name)}): void;`).join("\n")}\n}`,
    ];
    const text = parts.join("\n\n");
    const used = ["DTypeCode", ...Object.values(NAMED)].filter((type) => new RegExp(`: ${type}\\b`).test(text));
    const imports = used.length > 0 ? `import type { ${used.join(", ")} } from "../../core/dtype";\n\n` : "";
    return { family, text: `// ${heading(file)}\n${imports}${text}\n` };
  });
}

const isNested = (struct, ops) =>
  ops.some((op) => op.struct.fields.some((field) => field.kind === "value" && field.type === struct.name));

/** SRP_LOSS_FORMS of srp_loss_form: how many there are, or one more than the last. */
const countName = (name) => `SRP_${plural(name.replace(/^srp_/, "")).toUpperCase()}`;

/** The items of an enum that share a prefix, with the word that each is. */
export function spelledItems({ name, items }) {
  const prefix = prefixOf(items.map((item) => item.name));
  const words = items.filter((item) => item.name.startsWith(prefix) && item.name !== countName(name));
  return words.map((item) => ({ ...item, word: word(item.name.slice(prefix.length)) }));
}

/** Words of an enum whose enumerators share a prefix; the others are constants. */
function enumText(choice) {
  const { name, comment, items } = choice;
  if (!name) return documented(comment) + items.map(constantText).join("\n");
  const bare = name.replace(/^srp_/, "");
  const spelled = spelledItems(choice);
  const others = items.filter(
    (item) => item.name !== countName(name) && !spelled.some((each) => each.name === item.name),
  );
  const list = plural(bare).toUpperCase();
  const docs = spelled.map((item) => documented(formOf(item).words) + `"${item.word}",`);
  const ordinal = spelled.every((item, i) => item.value === i);
  const numbers = spelled.map((item) => `${item.word}: ${item.value},`).join("\n");
  return [
    `${documented(`${comment ? `${comment} ` : ""}${name}${ordinal ? ": a word's place is its number." : "."}`)}export const ${list} = [\n${docs.join("\n")}\n] as const;`,
    `export type ${typeName(name)} = (typeof ${list})[number];`,
    ...(ordinal
      ? placesText(typeName(name), spelled)
      : [
          `/** The numbers of ${list}. */\nexport const ${bare.toUpperCase()} = {\n${numbers}\n} as const satisfies Record<${typeName(name)}, number>;`,
        ]),
    ...others.map(constantText),
  ].join("\n");
}

/** Of an enum of columns, where several numbers a row stand behind one another. */
function placesText(type, items) {
  if (!type.endsWith("Figure")) return [];
  const fields = items.map((item) => `${item.word}: values[${item.value}]!,`).join("\n");
  return [
    `/** A value of each, in their order, by name: a loop over names takes much longer. */\nexport const named${type}s = <Value>(values: ArrayLike<Value>): { -readonly [Name in ${type}]: Value } => ({\n${fields}\n});`,
  ];
}

const constantText = ({ name, value, comment }) =>
  `${documented(comment)}export const ${name.replace(/^SRP_/, "")} = ${value};`;

/** What the first two names have in common, in whole words, and a word remains of each. */
function prefixOf([first, second]) {
  const words = first.split("_").slice(0, -1);
  const others = second ? second.split("_").slice(0, -1) : words;
  const common = words.findIndex((each, i) => each !== others[i]);
  return `${words.slice(0, common < 0 ? words.length : common).join("_")}_`;
}

function argsText({ struct, arrays }) {
  const lines = struct.fields.slice(1).map((field) => {
    const array = arrays.find(({ name }) => name === field.name);
    return array ? arrayLine(array, struct) : numberLine(field, struct);
  });
  return struct.alias
    ? `export type ${typeName(struct.name)} = ${typeName(struct.alias)};`
    : interfaceOf(struct, lines);
}

const interfaceOf = (struct, lines) =>
  `/** ${struct.name}. */\nexport interface ${typeName(struct.name)} {\n${lines.join("\n")}\n}`;

function numberLine(field, struct) {
  const type =
    field.name === "dtype" ? "DTypeCode" : /^(int|double)/.test(field.type) ? "number" : typeName(field.type);
  return `${documented(field.comment, struct)}readonly ${camelCase(field.name)}: ${type};`;
}

function arrayType(array) {
  const dtypes = array.wide ? ["SRP_F32", "SRP_F64"] : array.element ? [array.element] : array.dtypes;
  const types = [...new Set(dtypes.map((dtype) => DTYPES[dtype][1]))].join(" | ");
  return NAMED[types] ?? types;
}

const arrayLine = (array, struct) =>
  `${documented(array.comment, struct)}readonly ${camelCase(array.name)}: ${arrayType(array)}${array.nullable ? " | null" : ""};`;

/** A comment of a header as one of TypeScript: dtypes and fields by their names there. */
function documented(comment, struct) {
  if (!comment) return "";
  const named = comment.replace(/\b[a-z]\w*_\w+\b/g, (name) =>
    struct?.fields.some((field) => field.name === name) ? camelCase(name) : name,
  );
  const text = named.replace(/\bNULL\b/g, "null").replace(/\bSRP_\w+/g, (name) => DTYPES[name]?.[0] ?? name);
  return `/** ${text}${/[.:]$/.test(text) ? "" : "."} */\n`;
}
