// What the options and the batch of a function are on a command line: a table has every one of them, or it does not compile.
import type { FloatArray } from "./dtype";

/** How an option is written: a number, a flag alone, one of several words, or JSON for all that is larger. */
export type OptionKind = "number" | "flag" | "json" | Readonly<Record<string, true>>;

type KindOf<Value> = [Value] extends [boolean]
  ? "flag"
  : [Value] extends [number]
    ? "number"
    : [Value] extends [string]
      ? Readonly<Record<Value, true>>
      : [Value] extends [number | FloatArray]
        ? "number" | "json"
        : "json";

/** What exists inside a program only, or has a flag of its own. */
type NotOptions =
  | "preset"
  | "backend"
  | "arena"
  | "collective"
  | "out"
  | "stream"
  | "permutation"
  | "boundsPer"
  | "lambdaPer";

/** Every option of a union of options. */
type AllOf<Union> = {
  readonly [Name in Union extends unknown ? keyof Union : never]: Union extends unknown
    ? Name extends keyof Union
      ? Union[Name]
      : never
    : never;
};

/** A kind for every option of a type. */
export type OptionKinds<Options> = {
  readonly [Name in Exclude<keyof AllOf<Options>, NotOptions>]-?: KindOf<NonNullable<AllOf<Options>[Name]>>;
};

/**
 * Whether an argument is read from rollouts: `"need"`ed; `"take"`n where every rollout has its field; taken where `"asked"` for by
 * name; needed as one array for each `"named"` reward; or `"leave"`: it is not for a command line.
 */
export type Reading = "need" | "take" | "asked" | "named" | "leave";

/** A reading for every array of a batch. */
export type Readings<Batch> = {
  readonly [
    Name in Exclude<keyof Batch, "shape" | "offsets" | "groupOffsets" | "advantagesPer" | "rolloutWeightsPer">
  ]-?: Reading;
};
