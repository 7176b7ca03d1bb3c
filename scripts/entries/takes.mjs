// What a function takes, in the words that lib/core/takes.ts reads, from its type.
import ts from "typescript";

/** Arguments that are options: their fields are known, and no others are taken. Other objects may have more than is read. */
const STRICT = ["options", "choice", "configuration", "terms", "bounds", "start", "form"];

/** Fields of options that may hold more than is read of them: what another function returned. */
const OPEN_FIELDS = ["moments", "runningMoments", "statistics", "controller"];

const BATCH = ["batch"];
const BATCHES = ["batches"];

const partsOf = (type) =>
  (type.isUnion() ? type.types : [type]).filter((part) => !(part.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void)));

const isCallable = (type) => type.getCallSignatures().length > 0;

/** An object that is made of named fields: no array, no class, no interface with methods, no dictionary. */
function isRecord(checker, type) {
  if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return false;
  if (
    type.isIntersection() &&
    !type.types.every((part) => isRecord(checker, part) || part.getProperties().length === 0)
  )
    return false;
  if (isCallable(type) || checker.isArrayLikeType(type) || type.isClass()) return false;
  if (checker.getIndexInfosOfType(type).length > 0 || isBytes(type)) return false;
  const fields = type.getProperties();
  // A tensor of another library: it has what that gives it.
  if (fields.some(({ name }) => name === "data")) return false;
  return fields.every(({ flags }) => !(flags & (ts.SymbolFlags.Method | ts.SymbolFlags.Accessor)));
}

/** The type of a parameter or a field, with what stands for a type variable. */
function typeOf(checker, symbol) {
  const type = checker.getTypeOfSymbol(symbol);
  return checker.getBaseConstraintOfType(type) ?? type;
}

/** Arrays that callers may give in another form, by the letter of lib/core/plain-arrays.ts. Outputs are the caller's memory. */
const KINDS = [
  [["Float32Array", "Float64Array", "Uint16Array"], "l"],
  [["Float32Array", "Uint16Array"], "l"],
  [["Float32Array", "Float64Array"], "f"],
  [["Float64Array"], "d"],
  [["Int32Array", "BigInt64Array"], "t"],
  [["Int32Array"], "i"],
  [["Uint8Array"], "m"],
];
const NAMES = [...new Set(KINDS.flatMap(([names]) => names))];

/** `:` and the kind of array that an argument or a field takes; "" where it takes none, or several kinds. */
function kindText(checker, types) {
  const found = new Set(types.map((type) => type.symbol?.name));
  const elements = types.filter((type) => checker.isArrayType(type)).flatMap((type) => checker.getTypeArguments(type));
  if (elements.some((type) => partsOf(type).some(({ symbol }) => symbol?.name === "Float32Array"))) return ":c";
  if (found.has("Int8Array")) return ""; // labels of groups: any list
  const names = NAMES.filter((name) => found.has(name));
  const [, kind] = KINDS.find(([all]) => all.length === names.length && all.every((name) => found.has(name))) ?? [];
  return kind ? `:${kind}` : "";
}

/** Fields of options as Map: name → types that it has. */
function fieldsOf(checker, types) {
  const fields = new Map();
  for (const type of types)
    for (const field of type.getProperties())
      fields.set(field.name, [...(fields.get(field.name) ?? []), ...partsOf(typeOf(checker, field))]);
  return fields;
}

/** A field: its name, and in braces the fields of its own. */
function fieldText(checker, [name, types]) {
  if (types.length > 0 && types.every(isCallable)) return `${name}()`;
  const objects = types.filter((type) => type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection));
  const records = objects.filter((type) => isRecord(checker, type));
  const open = objects.some((type) => !records.includes(type) && !checker.isArrayLikeType(type) && !isBytes(type));
  if (records.length === 0 || open || OPEN_FIELDS.includes(name))
    return name === "out" ? name : `${name}${kindText(checker, types)}`;
  return `${name}{${fieldTexts(checker, records).join(" ")}}`;
}

/** Arrays of numbers and of bytes, which are told from options when they come. */
const isBytes = (type) => type.getProperty("byteLength") !== undefined;

/** An object that is no list: with what is read of it, or a dictionary. */
const isObject = (checker, type) =>
  !isCallable(type) &&
  !checker.isArrayLikeType(type) &&
  !isBytes(type) &&
  !checker.getIndexInfoOfType(type, ts.IndexKind.Number) &&
  !type.getProperties().some(({ name }) => /^__@(async)?iterator/i.test(name));

const fieldTexts = (checker, types) => [...fieldsOf(checker, types)].map((field) => fieldText(checker, field));

/** How the name of an argument reads, where it is taken apart at once. */
function nameOf(symbol) {
  const { name, dotDotDotToken } = symbol.valueDeclaration ?? {};
  if (dotDotDotToken) return "options";
  return name && ts.isObjectBindingPattern(name) ? "options" : symbol.name;
}

/** The arguments of all overloads: name, types, and whether it may be missing. */
function argumentsOf(checker, signatures) {
  const list = [];
  for (const signature of signatures)
    for (const [i, symbol] of signature.parameters.entries()) {
      const of = typeOf(checker, symbol);
      const rest = symbol.valueDeclaration?.dotDotDotToken && checker.isTupleType(of);
      const types = rest ? checker.getTypeArguments(of) : [of];
      const missing = rest
        ? of.target.minLength === 0
        : symbol.valueDeclaration?.questionToken || symbol.valueDeclaration?.initializer;
      const parts = types.flatMap((one) => partsOf(checker.getBaseConstraintOfType(one) ?? one));
      const optional = Boolean(missing) || partsOf(of).length < (of.isUnion() ? of.types.length : 1);
      const known = list[i] ?? { name: nameOf(symbol), types: [], optional: false };
      list[i] = { name: known.name, types: [...known.types, ...parts], optional: known.optional || optional };
    }
  return list;
}

/** Whether an object always has a field. */
function isNeeded(checker, field) {
  const type = checker.getTypeOfSymbol(field);
  return !(field.flags & ts.SymbolFlags.Optional) && partsOf(type).length === (type.isUnion() ? type.types.length : 1);
}

/** An argument as `text`; of options also the texts of their `fields`. */
function describe(checker, { name, types, optional }) {
  const text = `${name}${optional ? "?" : ""}`;
  if (types.every((type) => type.flags & ts.TypeFlags.String)) return { text: `${text}""` };
  if (types.every((type) => checker.isArrayType(type)))
    return { text: `${text}${BATCHES.includes(name) ? "[*]" : "[]"}` };
  if (types.every(isCallable)) return { text: `${text}()` };
  const objects = types.filter((type) => type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection));
  if (objects.length < types.length || !objects.every((type) => isObject(checker, type)))
    return { text: `${text}${kindText(checker, types)}` };
  if (BATCH.includes(name)) return { text: `${text}*` };
  const records = objects.filter((type) => isRecord(checker, type));
  if (STRICT.includes(name) && records.length === objects.length) return { text, fields: fieldTexts(checker, records) };
  const needed = (type) => type.getProperties().filter((field) => isNeeded(checker, field));
  const [first, ...rest] = objects.map((type) => needed(type).map(({ name: field }) => field));
  const always = first.filter((field) => rest.every((list) => list.includes(field)));
  return { text: `${text}<${always.join(" ")}>` };
}

/** The arguments of a function. */
export const takesOf = (checker, type) => takenBy(checker, type.getCallSignatures());

/** The arguments of a constructor. */
export const takesToMake = (checker, type) => takenBy(checker, type.getConstructSignatures());

const takenBy = (checker, signatures) =>
  argumentsOf(checker, signatures).map((argument) => describe(checker, argument));

/** The types of the batches that a function takes. */
export const batchesOf = (checker, type) =>
  argumentsOf(checker, type.getCallSignatures()).flatMap(({ name, types }) => {
    if (BATCHES.includes(name)) return types.flatMap((list) => checker.getTypeArguments(list));
    return BATCH.includes(name) ? types : [];
  });

/** The fields of all batches, with the kinds of their arrays. */
export const batchTexts = (checker, types) =>
  [...fieldsOf(checker, types)].map(([name, parts]) => `${name}${kindText(checker, parts)}`).sort();
