// A mapping says how one golden function is expressed in the public API.
//
// It may rename, reshape, slice, set constants and presets, loop a function over the state that it returned,
// supply scripted callbacks, and map a throw to the recorded failure. It does no arithmetic on values: whatever a
// golden output needs, the library must compute.
import type * as surprisal from "surprisal";
import type * as experience from "surprisal/experience";
import type * as reward from "surprisal/reward";
import type { BackendName } from "../support/each-backend";
import type { GoldenCase } from "./golden";
import type { Inputs } from "./inputs";

export interface Context {
  /** Given to every call of the API as `{ backend }`. */
  readonly backend: BackendName;
  /** What `preset` of the mapping answered for this case. */
  readonly preset: string | undefined;
  readonly caseName: string;
}

/** By golden output name: numbers, strings, booleans, null, number arrays, `{data, shape}`, lists, records. */
export type Outputs = Readonly<Record<string, unknown>>;

/** One flag an element, 0 where the specification leaves the value open; for a list of arrays, such flags for each. */
export type Flags = ArrayLike<number> | readonly ArrayLike<number>[];

/** By golden output name. */
export type DefinedFlags = Readonly<Record<string, Flags>>;

/** Of the public surface: the main entry, surprisal/reward and surprisal/experience. */
export type PublicName = keyof typeof surprisal | keyof typeof reward | keyof typeof experience;

export interface Mapping {
  readonly family: string;
  readonly function: string;
  /** The public function that answers for it; where several do, the one that gives most of the outputs first. */
  readonly ours: PublicName | readonly PublicName[];
  /** The preset and options with which it does, apart from the numbers of the case. */
  readonly options?: string;
  /** What the source has otherwise where nothing is wrong on either side: a layout, a name, a special value. */
  readonly differs?: string;
  run(inputs: Inputs, context: Context): Outputs;
  /** Elements that are not compared, because they lie under a mask and have no defined value there. */
  masked?(inputs: Inputs): DefinedFlags;
  /** Outputs that nothing here returns, and why that is. They are named where results are shown. */
  readonly notCompared?: { readonly outputs: readonly string[]; readonly because: string };
  /** The recorded failure's name → the error codes of this library that stand for it. */
  readonly failures?: Readonly<Record<string, readonly string[]>>;
  /** The preset that reproduces an upstream-only case, "defaults" where none is needed; undefined where none does. */
  preset?(golden: GoldenCase): string | undefined;
  /** What the library does in place of upstream-only behaviour, in general or in a case. */
  readonly replacedBy?: string | ((golden: GoldenCase) => string | undefined);
  /** A reason not to run a case; undefined runs it. */
  skip?(golden: GoldenCase): string | undefined;
  /** True for functions that use no backend (strings, controllers): they give the same on each. */
  readonly backendFree?: boolean;
}

export function namesOf({ ours }: Mapping): readonly PublicName[] {
  return typeof ours === "string" ? [ours] : ours;
}

export type MappingTable = ReadonlyMap<string, Mapping>;

export function mappingKey(of: { family: string; function: string }): string {
  return `${of.family}/${of.function}`;
}

export function mappingTable(mappings: readonly Mapping[]): MappingTable {
  const table = new Map<string, Mapping>();
  for (const mapping of mappings) {
    const key = mappingKey(mapping);
    if (table.has(key)) throw new Error(`two mappings for ${key}`);
    table.set(key, mapping);
  }
  return table;
}
