// What a public function takes, as its entry says it in a line.
import { BATCH_FIELDS } from "./batch-fields";
import type { ArrayKind } from "./plain-arrays";
import type { ArrayFields, TakesArrays } from "./typed-call";

/** Names of fields; those that hold an object with fields of its own have them. */
export interface Fields extends ArrayFields {
  readonly known: ReadonlyMap<string, Fields | null>;
  /**
   * The names of the last object that was checked, in its order, and their fields: most calls of a program have the same. They come
   * from an object, as those that they are compared with: names of properties are compared by their addresses.
   */
  readonly last: string[];
  readonly lastFields: (Fields | null)[];
}

/** How an argument is checked. What is not checked here is left to its function. */
export interface Argument {
  readonly name: string;
  readonly place: number;
  readonly optional: boolean;
  /**
   * `"options"`: an object of these fields alone. `"batch"`: one of fields that something reads. `"batches"`: a list of
   * such. `"object"`: one that has these.
   */
  readonly kind: "text" | "list" | "function" | "object" | "batch" | "batches" | "options";
  readonly fields: Fields;
}

/** The arguments of a function. */
export interface Takes extends TakesArrays {
  readonly checks: readonly Argument[];
  /** An argument, or an option, is a function of the caller: what that throws is not ours to name. */
  readonly callsBack: boolean;
}

/** `:f` and the like, behind the name of what takes an array. */
function kindAt(tokens: string[]): ArrayKind | undefined {
  return tokens[0]?.startsWith(":") ? (tokens.shift()!.slice(1) as ArrayKind) : undefined;
}

const NO_FIELDS = readFields([]);

/** What some loss or estimator reads, where a batch may have the fields of others too. */
const BATCH = readFields(tokensOf(BATCH_FIELDS));

const KINDS: ReadonlyMap<string, Argument["kind"]> = new Map([
  ["{", "options"],
  ["<", "object"],
  ["*", "batch"],
  ["[*]", "batches"],
  ["()", "function"],
  ['""', "text"],
  ["[]", "list"],
]);

/** In the place of the fields of an arena, which is an option of every op. */
export const ARENA: Fields = { known: new Map(), kinds: new Map(), last: [], lastFields: [] };

function readFields(tokens: string[]): Fields {
  const known = new Map<string, Fields | null>();
  const kinds = new Map<string, ArrayKind>();
  for (let token = tokens.shift(); token !== undefined && token !== "}" && token !== ">"; token = tokens.shift()) {
    if (tokens[0] === "()") tokens.shift();
    const kind = kindAt(tokens);
    if (kind) kinds.set(token, kind);
    const nested = tokens[0] === "{";
    if (nested) tokens.shift();
    known.set(token, nested ? readFields(tokens) : token === "arena" ? ARENA : null);
  }
  return { known, kinds, last: Object.keys(Object.fromEntries(known)), lastFields: [...known.values()] };
}

function tokensOf(text: string): string[] {
  return text.match(/[\w$]+|\(\)|""|\[\*?\]|:\w|[?*{}<>]/g) ?? [];
}

/**
 * Reads what an entry says of a function: the names of its arguments, `?` behind those that may be missing, then
 *
 *     {shape out{sums}}    options, with the fields of those that are objects
 *     *  [*]               a batch, a list of batches
 *     <offsets rows>       an object that has these fields, and may have more
 *     ()  ""  []           a function, a string, an array
 *     :f                   an array, by the kinds of plain-arrays.ts; behind the name of a field, too
 */
function readTakes(text: string): Takes {
  const tokens = tokensOf(text);
  const checks: Argument[] = [];
  const arrays: { name: string; place: number; kind: ArrayKind }[] = [];
  let name = tokens.shift();
  for (let place = 0; name !== undefined; ++place, name = tokens.shift()) {
    const optional = tokens[0] === "?";
    if (optional) tokens.shift();
    const array = kindAt(tokens);
    if (array) arrays.push({ name, place, kind: array });
    const next = tokens[0];
    const kind = KINDS.get(next ?? "");
    if (kind === undefined) continue;
    tokens.shift();
    const fields = next === "{" || next === "<" ? readFields(tokens) : kind.startsWith("batch") ? BATCH : NO_FIELDS;
    checks.push({ name, place, optional, kind, fields });
  }
  return { checks, arrays, callsBack: text.includes("()") };
}

/** What a function takes. Where it goes by the name that is its first argument: by each name. */
export type Text = string | Readonly<Record<string, string>>;

/** What a call takes: each text is read when it is needed first. Of a name that there is not, nothing is known. */
export function readerOf(text: Text, shared = ""): (name: unknown) => Takes {
  const read = new Map<string, Takes>();
  return (name) => {
    const own =
      typeof text === "string" ? text : typeof name === "string" && Object.hasOwn(text, name) ? text[name]! : "";
    let takes = read.get(own);
    if (!takes) read.set(own, (takes = readTakes(own.replace("$", shared))));
    return takes;
  };
}
