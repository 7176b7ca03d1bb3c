// All headers together: every op with the fields of its args struct, checked against each other.
import { fieldsOf as integersOf } from "./expressions.mjs";
import { readDeclarations } from "./declarations.mjs";
import { Refusal } from "./refusal.mjs";
import { readShape } from "./shapes.mjs";

/** The element types of arrays; void is the struct's own dtype. */
const ELEMENTS = {
  float: "SRP_F32",
  double: "SRP_F64",
  int32_t: "SRP_I32",
  uint8_t: "SRP_U8",
  int64_t: "SRP_I64",
  void: undefined,
};
const NUMBERS = ["int32_t", "int64_t", "double"];
const ROWS = "independent rows";
const ARGS = /^srp_(\w+)_args$/;

/**
 * {constants, enums, structs, ops, table} of headers, [{file, text}].
 *
 * An op is a struct srp_<op>_args; ops come in the order of the files and, in a file, of the lines. It is {name, family, struct,
 * dtypes, numbers, arrays, rows}: its fields are `numbers` and `arrays` in the order of the struct, a nested struct's
 * numbers with their path; `rows` names the integer by which a call can be cut.
 */
export function readContracts(headers) {
  const read = headers.map(({ file, text }) => ({ file, ...readDeclarations(file, text) }));
  const enums = read.flatMap((header) => header.enums);
  const constants = Object.fromEntries(enums.flatMap(({ items }) => items.map(({ name, value }) => [name, value])));
  const structs = new Map(read.flatMap((header) => header.structs.map((struct) => [struct.name, struct])));
  const aliases = read.flatMap((header) => header.aliases);
  for (const { name, of, ...at } of aliases) {
    if (structs.has(of)) structs.set(name, { ...structs.get(of), ...at, name, alias: of });
  }
  const places = headers.map(({ file }) => file);
  const ops = [...structs.values()]
    .filter(({ name }) => ARGS.test(name))
    .sort((a, b) => places.indexOf(a.file) - places.indexOf(b.file) || a.line - b.line)
    .map((struct) => opOf(ARGS.exec(struct.name)[1], struct, structs, constants));
  return { constants, enums, structs, ops, table: structs.get("srp_backend") };
}

function opOf(name, struct, structs, constants) {
  const [size, ...rest] = struct.fields;
  const at = { file: struct.file, line: struct.line };
  if (size?.name !== "size" || size.type !== "uint32_t")
    throw new Refusal(at, `${struct.name} begins otherwise`, "uint32_t size");
  const numbers = rest.flatMap((field) => numbersOf(field, structs));
  const dtype = rest.find((field) => field.name === "dtype");
  if (dtype && rest[0] !== dtype) throw new Refusal(dtype, "dtype stands late", "it behind size");
  const dtypes = dtype && dtypesOf(dtype, constants);
  const integers = numbers.filter(({ type }) => type !== "double").map(({ path }) => path);
  const pointers = rest.filter(({ kind }) => kind === "pointer");
  const arrays = pointers.map((field) => arrayOf(field, struct, dtypes, integers, constants));
  arrays.forEach((array, i) => checkSameMemory(array, arrays.slice(0, i)));
  const rows = rest.find((field) => field.comment.startsWith(ROWS));
  if (rows) checkRows(rows, arrays);
  const family = /(\w+)\.h$/.exec(struct.file)[1];
  return { name, family, struct, dtypes, numbers, arrays, rows: rows?.name };
}

/** A number, or those of a nested struct. */
function numbersOf(field, structs) {
  if (field.kind === "pointer") return [];
  if (field.kind === "value" && NUMBERS.includes(field.type)) return [{ ...field, path: field.name }];
  const nested = field.kind === "value" && structs.get(field.type);
  if (!nested)
    throw new Refusal(
      field,
      `${field.name} is ${field.type}`,
      `${NUMBERS.join(", ")}, a pointer or a struct of numbers`,
    );
  return nested.fields.map((inner) => {
    if (inner.kind === "value" && NUMBERS.includes(inner.type))
      return { ...inner, path: `${field.name}.${inner.name}` };
    throw new Refusal(inner, `${inner.name} is ${inner.type}`, NUMBERS.join(", "));
  });
}

/** What the comment of dtype begins with: SRP_F32, SRP_F16 or SRP_BF16. */
function dtypesOf(field, constants) {
  const [list = ""] = /^SRP_\w+(, SRP_\w+)*( or SRP_\w+)?/.exec(field.comment) ?? [];
  const names = list.match(/SRP_\w+/g) ?? [];
  const bad = names.find((name) => !(name in constants));
  if (names.length > 0 && !bad) return names;
  throw new Refusal(
    field,
    `the comment of dtype is "${field.comment}"`,
    "one that begins with the dtypes: SRP_F32 or SRP_F64",
  );
}

function arrayOf(field, struct, dtypes, integers, constants) {
  if (!(field.type in ELEMENTS))
    throw new Refusal(field, `${field.name} is ${field.type}*`, Object.keys(ELEMENTS).join(", "));
  if (field.type === "void" && !dtypes)
    throw new Refusal(field, `${field.name} is void*`, `a field dtype in ${struct.name}`);
  const shape = readShape(field, integers, constants);
  return { ...field, ...shape, output: !field.isConst, element: ELEMENTS[field.type], dtypes };
}

function checkSameMemory(array, before) {
  if (!array.sameMemoryAs) return;
  const input = before.find(({ name, output }) => name === array.sameMemoryAs && !output);
  const alike =
    input &&
    array.output &&
    input.type === array.type &&
    JSON.stringify(input.extents) === JSON.stringify(array.extents);
  if (!alike)
    throw new Refusal(
      array,
      `${array.name} may be the memory of ${array.sameMemoryAs}`,
      "an output, of an input before it, of one type and shape",
    );
}

/** Every array of a call that can be cut has the rows as its first extent, and the rows nowhere else. */
function checkRows(rows, arrays) {
  for (const array of arrays) {
    const [first, ...others] = array.extents;
    if (first.field !== rows.name || others.some((extent) => integersOf(extent).includes(rows.name)))
      throw new Refusal(
        array,
        `${array.name} is not cut by ${rows.name}`,
        `[${rows.name}, ...], since ${rows.name} counts ${ROWS}`,
      );
  }
}
