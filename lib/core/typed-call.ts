// A call with typed arrays in the place of the plain ones that it was given.
import { type ArrayKind, type ArraySlot, fillTyped, isPlain, type PlainLayout } from "./plain-arrays";

type Holder = Record<string | number, unknown>;

/** Fields of an object: those with fields of their own, and those that take arrays. */
export interface ArrayFields {
  readonly known: ReadonlyMap<string, ArrayFields | null>;
  readonly kinds: ReadonlyMap<string, ArrayKind>;
}

/** Where the arguments of a function take arrays. */
export interface TakesArrays {
  readonly arrays: readonly { readonly name: string; readonly place: number; readonly kind: ArrayKind }[];
  /** Arguments that are objects. */
  readonly checks: readonly {
    readonly name: string;
    readonly place: number;
    readonly kind: string;
    readonly fields: ArrayFields;
  }[];
}

/** Slots, and where what they hold comes from. */
interface Found {
  readonly slots: (ArraySlot & { readonly holder: Holder; readonly key: string | number })[];
  /** Objects that may say where rows lie. */
  readonly layouts: Holder[];
}

/** A copy of an object, with the slots among its fields, and those of objects in it. Outputs stay the caller's. */
function copyOf(object: object, of: string, { known, kinds }: ArrayFields, found: Found): Holder {
  const holder = { ...object } as Holder;
  if (known.has("offsets")) found.layouts.push(holder);
  for (const [key, kind] of kinds) found.slots.push({ holder, key, name: of + key, kind, value: holder[key] });
  for (const [key, fields] of known) {
    const value = holder[key];
    if (
      fields === null ||
      key === "out" ||
      key === "arena" ||
      typeof value !== "object" ||
      value === null ||
      Array.isArray(value)
    )
      continue;
    holder[key] = copyOf(value, `${of}${key}.`, fields, found);
  }
  return holder;
}

/** A result beside the rows of nested arrays, of which its arrays are flat. */
function besideRows(result: unknown, { offsets }: PlainLayout): unknown {
  const plain = typeof result === "object" && result !== null && Object.getPrototypeOf(result) === Object.prototype;
  return plain ? { offsets, ...result } : result;
}

/** A batch of a list, whose rows are its own; itself where nothing of it is plain. */
function typedBatch(op: string, name: string, batch: object, fields: ArrayFields): object {
  const found: Found = { slots: [], layouts: [] };
  const copy = copyOf(batch, `${name}.`, fields, found);
  const plain = found.slots.filter(isPlain);
  if (plain.length === 0) return batch;
  fillTyped(op, found.slots, copy);
  for (const { holder, key, value } of plain) holder[key] = value;
  return copy;
}

/** The same call with typed arrays, or undefined where there is no plain one among its arguments. */
export function typedCall(
  op: string,
  takes: TakesArrays,
  given: readonly unknown[],
): ((run: (...args: unknown[]) => unknown) => unknown) | undefined {
  const args = [...given] as unknown[] & Holder;
  const found: Found = { slots: [], layouts: [] };
  for (const { name, place, kind } of takes.arrays)
    found.slots.push({ holder: args, key: place, name, kind, value: args[place] });
  let batches = false;
  for (const { name, place, kind, fields } of takes.checks) {
    const value = args[place];
    if (kind === "batches") {
      const list = value as readonly object[];
      const typed = list.map((batch, i) => typedBatch(op, `${name}[${i}]`, batch, fields));
      batches = typed.some((batch, i) => batch !== list[i]);
      args[place] = typed;
    } else if ((kind === "options" || kind === "batch") && typeof value === "object" && value !== null)
      args[place] = copyOf(value, "", fields, found);
  }
  const plain = found.slots.filter(isPlain);
  if (plain.length === 0 && !batches) return undefined;
  const layout =
    found.layouts.find(({ shape, offsets }) => shape != null || offsets != null) ?? found.layouts[0] ?? null;
  const before: unknown = layout?.["offsets"];
  fillTyped(op, found.slots, layout);
  for (const { holder, key, value } of plain) holder[key] = value;
  const nested = layout !== null && layout["offsets"] !== before;
  return (run) => {
    const result = run(...args);
    if (!nested) return result;
    return result instanceof Promise ? result.then((value) => besideRows(value, layout)) : besideRows(result, layout);
  };
}
