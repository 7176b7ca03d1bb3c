// Bounds of the ratio that a row or a token has for itself.
import { LOSS_FORM, type LossParameters, ROW_FORM } from "../../backend/contract/loss";
import { DeviceArray } from "../../core/device-array";
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { needPerRowOrToken, type Per, type PerRowOrToken } from "../../core/per-row";
import type { Rows } from "../../core/row-layout";

const NAMES = ["clipLow", "clipHigh", "ratioCap"] as const satisfies readonly (keyof LossParameters)[];
type BoundName = (typeof NAMES)[number];

/** Where a bound is one for each row or token: its array. */
export type Bounds = Readonly<Partial<Record<BoundName, PerRowOrToken>>>;

/** Of most calls. */
export const NO_BOUNDS: Bounds = {};

/** Of a loss, as a caller gives them. */
export type BoundOptions = { readonly [Name in BoundName]?: number | FloatArray } & {
  readonly boundsPer?: Per;
  /** Given in place of both widths: the name for errors. */
  readonly clip?: unknown;
};

/** What entries of a call are named. */
export const boundArrays = (bounds: Bounds = NO_BOUNDS): Readonly<Record<BoundName, FloatArray | undefined>> => ({
  clipLow: bounds.clipLow?.array,
  clipHigh: bounds.clipHigh?.array,
  ratioCap: bounds.ratioCap?.array,
});

const { clip, weighted, bounded, squared } = LOSS_FORM;
const RATIO_FORMS: readonly number[] = [clip, weighted, ROW_FORM.clip, ROW_FORM.clipOnce, ROW_FORM.clipLocal];
const READERS: Readonly<Record<BoundName, readonly number[]>> = {
  clipLow: [...RATIO_FORMS, bounded, squared, ROW_FORM.geometric],
  clipHigh: [...RATIO_FORMS, bounded, squared, ROW_FORM.geometric],
  ratioCap: RATIO_FORMS,
};

export const isArray = (bound: unknown): bound is FloatArray => ArrayBuffer.isView(bound) || DeviceArray.is(bound);

/** The bounds of rows and tokens, checked; a loss that sees no token takes those of rows alone. */
export function needBounds(
  op: string,
  options: BoundOptions,
  rows: Rows,
  { form, rowsOnly }: { readonly form: number; readonly rowsOnly: boolean },
): Bounds {
  // By name: a loop over names takes longer.
  if (!isArray(options.clipLow) && !isArray(options.clipHigh) && !isArray(options.ratioCap)) return NO_BOUNDS;
  const found: Partial<Record<BoundName, PerRowOrToken>> = {};
  for (const name of NAMES) {
    const value = options[name];
    if (!isArray(value)) continue;
    if (!READERS[name].includes(form))
      throw optionError(op, name, value, "a number: this form reads no bounds of tokens");
    if (rowsOnly && options.boundsPer === "token") throw optionError(op, "boundsPer", "token", '"row" for this form');
    const said = options.clip !== undefined && name !== "ratioCap" ? "clip" : name;
    found[name] = needPerRowOrToken(op, said, value, rows, rowsOnly ? "row" : options.boundsPer, "boundsPer");
  }
  return found;
}
