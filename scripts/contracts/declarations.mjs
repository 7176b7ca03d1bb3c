// The structs and enums of one header, with the comment of each field. What the preprocessor decides is left out: in these
// headers it is for C++ and for linkers.
import { parse } from "./grammar.mjs";
import { Refusal } from "./refusal.mjs";

/** {structs, enums, aliases}: in the order in which they stand. */
export function readDeclarations(file, text) {
  const root = parse(withoutPreprocessor(text), { file, line: 1 });
  const found = { structs: [], enums: [], aliases: [] };
  const { namedChildren } = root;
  namedChildren.forEach((node, i) => {
    const at = { file, line: node.startPosition.row + 1 };
    const before = namedChildren[i - 1];
    const comment = before?.type === "comment" && before.endPosition.row === at.line - 2 ? plain(before.text) : "";
    if (node.type === "enum_specifier")
      found.enums.push({ ...at, name: undefined, comment, items: itemsOf(file, node, found.enums) });
    if (node.type !== "type_definition") return;
    const name = node.childForFieldName("declarator").text;
    const type = node.childForFieldName("type");
    const body = type.childForFieldName("body");
    if (type.type === "enum_specifier")
      found.enums.push({ ...at, name, comment, items: itemsOf(file, type, found.enums) });
    else if (type.type === "struct_specifier" && body)
      found.structs.push({ ...at, name, fields: fieldsOf(file, body) });
    else if (type.type === "type_identifier") found.aliases.push({ ...at, name, of: type.text });
  });
  return found;
}

/** Blank lines in place of directives, of what stands under a condition (but the include guard), and of uses of the op list. */
function withoutPreprocessor(text) {
  let depth = 0;
  let continued = false;
  const kept = text.split("\n").map((line) => {
    const directive = continued || /^\s*#/.test(line);
    continued = directive && line.endsWith("\\");
    if (/^\s*#\s*if/.test(line)) depth += 1;
    if (/^\s*#\s*endif/.test(line)) depth -= 1;
    return directive || depth > 1 || /^\s*SRP_FOR_EACH_OP\(\w+\)$/.test(line) ? "" : line;
  });
  return kept.join("\n");
}

/** The text of a comment on one line. */
function plain(comment) {
  return comment
    .replace(/^\/\*|\*\/$/g, "")
    .replace(/\n\s*\*?\s*/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/** The comment that begins on the line where a node ends, behind its comma or semicolon. */
function commentBehind(node) {
  let next = node.nextSibling;
  while (next && [",", ";"].includes(next.type)) next = next.nextSibling;
  const near = next?.type === "comment" && next.startPosition.row === node.endPosition.row;
  return near ? plain(next.text) : "";
}

/** `before`: enums whose enumerators may be a value. */
function itemsOf(file, specifier, before) {
  const nodes = specifier.childForFieldName("body").namedChildren.filter((node) => node.type === "enumerator");
  const items = [];
  const known = (name) => [...before.flatMap((each) => each.items), ...items].find((item) => item.name === name)?.value;
  for (const node of nodes) {
    const given = node.childForFieldName("value")?.text;
    const value = given === undefined ? (items.at(-1)?.value ?? -1) + 1 : Number(known(given) ?? given);
    if (!Number.isInteger(value))
      throw new Refusal(
        { file, line: node.startPosition.row + 1 },
        `the enumerator \`${node.text}\``,
        "a whole number, or an enumerator before it",
      );
    items.push({ name: node.childForFieldName("name").text, value, comment: commentBehind(node) });
  }
  return items;
}

function fieldsOf(file, body) {
  const declarations = body.namedChildren.filter((node) => node.type === "field_declaration");
  return declarations.flatMap((node) => {
    const line = node.startPosition.row + 1;
    const type = node.childForFieldName("type").text;
    const isConst = node.namedChildren.some((child) => child.type === "type_qualifier" && child.text === "const");
    const comment = commentBehind(node);
    const declarators = node.childrenForFieldName("declarator");
    return declarators.map((declarator) => ({
      file,
      line,
      type,
      isConst,
      comment,
      ...declared(file, line, declarator),
    }));
  });
}

/** {name, kind} of a declarator, kind being "value", "pointer", "function" or the length of an array. */
function declared(file, line, node) {
  const inner = node.childForFieldName("declarator");
  if (node.type === "field_identifier") return { name: node.text, kind: "value" };
  if (node.type === "pointer_declarator" && inner.type === "field_identifier")
    return { name: inner.text, kind: "pointer" };
  if (node.type === "array_declarator") return { name: inner.text, kind: Number(node.childForFieldName("size").text) };
  const [, name] = /\(\*(\w+)\)/.exec(node.text) ?? [];
  if (name) return { name, kind: "function" };
  throw new Refusal(
    { file, line },
    `the field \`${node.text}\``,
    "a value, a pointer to one, an array of them or a function",
  );
}
