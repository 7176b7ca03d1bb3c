// What every public function begins with: its arguments are there, and no option of it and no field of a batch is unknown. The
// entries of the package, lib/**/index.ts, put this in front of each function that they export; calls inside of lib/ pass it by.
import { type Arena, needArena, withArena } from "./arena";
import { closest } from "./closest";
import { optionError, SurprisalError } from "./errors";
import { ARENA, type Argument, type Fields, readerOf, type Takes, type Text } from "./takes";
import { typedCall } from "./typed-call";

/** The arena that the options name which are being checked. */
let asked: Arena | null = null;

/** That of the call that was just checked. */
function askedArena(): Arena | null {
  const arena = asked;
  asked = null;
  return arena;
}

const WANTED = {
  text: "a string",
  list: "an array",
  options: "an object of options",
  batch: "an object of arrays",
  batches: "an array of batches",
  object: "an object",
  function: "a function",
} as const;

const isList = (value: unknown): boolean => Array.isArray(value) || ArrayBuffer.isView(value);

/** A field that is not known. */
function unknownField(op: string, of: string, object: object, name: string, { known }: Fields): never {
  const kind = of.startsWith("batch") ? "batch" : "options";
  const names = [...known.keys()];
  const near = closest(name, names);
  const hint = near === undefined ? `it may have ${names.join(", ")}` : `did you mean "${near}"?`;
  const want = kind === "batch" ? "a field that a loss or an estimator reads" : `an option of ${op}`;
  throw new SurprisalError("ERR_SURPRISAL_OPTION", `${op}: ${of} has "${name}", which is not ${want}; ${hint}`, {
    op,
    name: of === kind ? name : `${of}.${name}`,
    got: (object as Record<string, unknown>)[name],
    want,
  });
}

/** Puts the name in place i of an object into `last`. */
function learn(op: string, of: string, object: object, name: string, fields: Fields, i: number): void {
  const known = fields.known.get(name);
  if (known === undefined) unknownField(op, of, object, name, fields);
  fields.last[i] = name;
  fields.lastFields[i] = known;
}

/** A list in the place of an object: of options its function judges, but never writes into one as `out`. */
function checkList(op: string, name: string, list: object, { known }: Fields): void {
  if (name === "out") throw optionError(op, name, list, `an object with ${[...known.keys()].join(", ")}`);
}

function checkFields(op: string, of: string, object: object, fields: Fields, nested: boolean): void {
  const { last, lastFields } = fields;
  let i = 0;
  for (const name in object) {
    if (name !== last[i]) learn(op, of, object, name, fields, i);
    const inner = lastFields[i++];
    if (inner === null || inner === undefined) continue;
    const value = (object as Record<string, unknown>)[name];
    if (inner === ARENA) {
      if (value !== undefined) asked = needArena(op, value);
    } else if (typeof value === "object" && value !== null) {
      // Before its names are asked for: a typed array has one an element.
      if (isList(value)) checkList(op, name, value, inner);
      else checkFields(op, nested ? `${of}.${name}` : name, value, inner, true);
    }
  }
}

function needFields(op: string, of: string, object: object, { known }: Fields): void {
  for (const name of known.keys())
    if ((object as Record<string, unknown>)[name] === undefined)
      throw optionError(op, `${of}.${name}`, undefined, "a value");
}

function checkBatches(op: string, name: string, batches: readonly unknown[], fields: Fields): void {
  batches.forEach((batch, i) => {
    const own = `${name}[${i}]`;
    if (typeof batch !== "object" || batch === null || isList(batch)) throw optionError(op, own, batch, WANTED.batch);
    checkFields(op, own, batch, fields, false);
  });
}

function checkArgument(op: string, { name, optional, kind, fields }: Argument, value: unknown): void {
  if (typeof value === "object" && value !== null) {
    if (isList(value)) {
      if (kind === "list" && Array.isArray(value)) return;
      if (kind === "batches" && Array.isArray(value)) return checkBatches(op, name, value, fields);
    } else {
      if (kind === "options" || kind === "batch") return checkFields(op, name, value, fields, false);
      if (kind === "object") return needFields(op, name, value, fields);
    }
  } else if (
    (kind === "text" && typeof value === "string") ||
    (kind === "function" && typeof value === "function") ||
    (optional && value === undefined)
  )
    return;
  throw optionError(op, name, value, WANTED[kind]);
}

/** The arguments of a call. Most functions have three; none has more than five. */
type Call = (a?: unknown, b?: unknown, c?: unknown, d?: unknown, e?: unknown) => unknown;
type AnyFunction = (...args: never) => unknown;

/**
 * An error of the caller's own: the reason of its signal, and what it threw where it was called back. Not a TypeError: that nearly
 * always is of an argument.
 */
function isCallers(error: unknown, { callsBack }: Takes, args: readonly unknown[]): boolean {
  const given = args.map((arg) => (arg ?? {}) as { readonly signal?: AbortSignal; readonly collective?: unknown });
  if (given.some(({ signal }) => signal?.aborted === true && signal.reason === error)) return true;
  // By its name: it may be of another realm.
  if ((error as { readonly name?: unknown } | null)?.name === "TypeError") return false;
  return callsBack || given.some(({ collective }) => collective !== undefined);
}

/** What engines say where they have no memory for an array, or could never have. */
const NO_MEMORY = /^(Array buffer allocation failed|Invalid (typed )?array length|Out of memory)/i;

/** What a call throws: errors of this package, of the caller, and where reading an argument threw, one that says so. */
function thrownBy(op: string, error: unknown, takes: Takes, args: readonly unknown[]): unknown {
  if (error instanceof SurprisalError) return error;
  try {
    if (isCallers(error, takes, args)) return error;
  } catch {
    // Reading an argument throws again.
  }
  const message = error instanceof Error ? error.message : String(error);
  if (NO_MEMORY.test(message))
    return new SurprisalError(
      "ERR_SURPRISAL_OUT_OF_MEMORY",
      `${op}: there is no memory for the results (${message}); pass fewer rows at a time`,
      { op },
      { cause: error },
    );
  return new SurprisalError(
    "ERR_SURPRISAL_OPTION",
    `${op}: an argument cannot be used: ${message}; the cause has the line`,
    { op },
    { cause: error },
  );
}

/** What plain arrays are refused by: an array, before anything has run. A failure of a device is not tried again. */
const REFUSALS: ReadonlySet<unknown> = new Set(
  ["DTYPE", "SHAPE", "OPTION", "RANGE"].map((code) => `ERR_SURPRISAL_${code}`),
);

/** The call with typed arrays, if plain ones may be what it was refused for. Else its error. */
function again(op: string, error: unknown, takes: Takes, args: readonly unknown[]): (run: Call) => unknown {
  const refused = error instanceof SurprisalError && REFUSALS.has(error.code);
  const call = refused ? typedCall(op, takes, args) : undefined;
  if (call) return call;
  throw error;
}

/** What is refused here stays so: plain arrays are not what it was refused for. */
function checkCall(op: string, takes: Takes, a: unknown, b: unknown, c: unknown, d: unknown, e: unknown): void {
  const { checks } = takes;
  try {
    for (let i = 0; i < checks.length; ++i) {
      const check = checks[i]!;
      const { place } = check;
      checkArgument(op, check, place === 0 ? a : place === 1 ? b : place === 2 ? c : place === 3 ? d : e);
    }
  } catch (error) {
    asked = null;
    throw thrownBy(op, error, takes, [a, b, c, d, e]);
  }
}

/** The call once more, and what it throws. Apart from the call, which nearly always ends well. */
function afterError(op: string, error: unknown, run: Call, takes: Takes, args: readonly unknown[]): unknown {
  try {
    return again(op, error, takes, args)(run);
  } catch (last) {
    throw thrownBy(op, last, takes, args);
  }
}

/** The function itself, when it is first called: it may lie in a file that is loaded then. */
type Load = () => AnyFunction;

function guard(op: string, load: Load, text: Text, shared?: string): Call {
  const takesBy = readerOf(text, shared);
  let only: Takes | undefined;
  let loaded: Call | undefined;
  return (a, b, c, d, e) => {
    const run = (loaded ??= load() as unknown as Call);
    const takes = only ?? takesBy(a);
    if (typeof text === "string") only = takes;
    checkCall(op, takes, a, b, c, d, e);
    const arena = askedArena();
    const call: Call = arena === null ? run : (...args) => withArena(arena, () => run(...args));
    try {
      return call(a, b, c, d, e);
    } catch (error) {
      return afterError(op, error, call, takes, [a, b, c, d, e]);
    }
  };
}

/** The same of a call that returns a promise: the arena knows when it ends. */
function inArena(arena: Arena | null, run: Call): Call {
  if (arena === null) return run;
  return async (...args) => {
    arena.begin();
    try {
      return await withArena(arena, () => run(...args));
    } finally {
      arena.end();
    }
  };
}

function guardAsync(op: string, load: Load, text: Text, shared?: string): Call {
  const takesBy = readerOf(text, shared);
  return async (a, b, c, d, e) => {
    const run = load() as unknown as Call;
    const takes = takesBy(a);
    checkCall(op, takes, a, b, c, d, e);
    const call = inArena(askedArena(), run);
    try {
      try {
        return await call(a, b, c, d, e);
      } catch (error) {
        return await again(op, error, takes, [a, b, c, d, e])(call);
      }
    } catch (error) {
      throw thrownBy(op, error, takes, [a, b, c, d, e]);
    }
  };
}

type Class = new (...args: readonly unknown[]) => object;

/** What may call functions of the caller's, and takes nothing that is known. */
const CALLING: Takes = { checks: [], arrays: [], callsBack: true };

/** Reads arguments of a method, which no entry checks: where reading throws, the error says of what. */
export function readingArguments<Result>(op: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw thrownBy(op, error, CALLING, []);
  }
}

type Method = (this: unknown, ...args: readonly unknown[]) => unknown;
type Prototype = { readonly prototype: object };

/** Methods that return promises read their arguments themselves: they know which errors are of the caller's own functions. */
function guardMethods(op: string, { prototype }: Prototype): void {
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (typeof value !== "function" || name === "constructor") continue;
    const method = value as Method;
    const guarded: Method = function (...args) {
      return readingArguments(`${op}.${name}`, () => Reflect.apply(method, this, args));
    };
    Object.defineProperty(prototype, name, { value: guarded });
  }
}

/** A class whose constructor checks its arguments first. What it makes is of the class itself; so are its methods, guarded. */
export function checkedClass(op: string, made: unknown, text: string): never {
  const takesBy = readerOf(text);
  guardMethods(op, made as Prototype);
  const construct = (target: Class, args: readonly unknown[], as: NewableFunction): object => {
    const run: Call = (...given) => Reflect.construct<readonly unknown[], object>(target, given, as as Class);
    const [a, b, c, d, e] = args;
    const takes = takesBy(undefined);
    checkCall(op, takes, a, b, c, d, e);
    askedArena(); // what a class makes may outlive a step
    try {
      return Reflect.construct<readonly unknown[], object>(target, args, as as Class);
    } catch (error) {
      return afterError(op, error, run, takes, args) as object;
    }
  };
  return new Proxy(made as Class, { construct }) as never;
}

/** Under the name of the public function, as stacks show it. */
const named = (op: string, call: Call): unknown => Object.defineProperty(call, "name", { value: op });

/**
 * A public function that checks its arguments first. `never`: the entry states its type. `takes` is what `readTakes` reads; of a
 * function that goes by the name which is its first argument, that of each name. `shared` stands where that says `$`.
 */
export const checked = (op: string, load: Load, takes: Text, shared?: string): never =>
  named(op, guard(op, load, takes, shared)) as never;

/** The same of a function that returns a promise: it rejects. */
export const checkedAsync = (op: string, load: Load, takes: Text, shared?: string): never =>
  named(op, guardAsync(op, load, takes, shared)) as never;
