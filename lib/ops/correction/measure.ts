// Moments of a statistic of two policies' log-probs, row by row.
import { MOMENTS } from "../../backend/contract/reduce";
import { selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { float64Or, int32Or } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { fillingNew } from "../../core/kept-memory";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import type { Stream } from "../../core/stream";
import { DeviceMoments, Moments } from "../reduce/moments";
import { type MismatchOptions, needPair } from "./pair";

takesDeviceArrays("measureMismatch");

/** One unit or entry per row. */
export interface MismatchMeasures {
  /** Of the statistic over the row's kept tokens; `mergeMoments` makes batch figures of them. */
  readonly moments: Moments;
  /** Of the statistic moved into [low, high]. */
  readonly bounded: Moments;
  /** Σ (logProbs − oldLogProbs) over the kept tokens, not clamped. */
  readonly differences: Float64Array;
  /** Tokens with the statistic above `high`; a NaN counts here. */
  readonly above: Int32Array;
  /** Tokens with the statistic below `low`. */
  readonly below: Int32Array;
}

interface Figures extends Omit<MismatchMeasures, "moments" | "bounded"> {
  readonly moments: Float64Array;
  readonly bounded: Float64Array;
}

/** As the result on the host. */
export type DeviceMismatchMeasures = OnDevice<Omit<MismatchMeasures, "moments" | "bounded">> & {
  readonly moments: DeviceMoments;
  readonly bounded: DeviceMoments;
};

/** The same on a device, where the first array lies. */
export function measureMismatch(
  logProbs: DeviceFloatArray,
  oldLogProbs: AnyFloatArray,
  options: Anywhere<MismatchOptions>,
): DeviceMismatchMeasures;
/**
 * How far two policies' log-probs of the same tokens are apart: moments of a statistic of both, of the bounded statistic, and
 * how many tokens lie outside of the bounds, in one pass and per row. A row's figures depend on nothing but its kept tokens.
 *
 * @param logProbs log-probs under one policy, nats; [n] as `shape` or `offsets` say
 * @param oldLogProbs log-probs under the other, same shape
 * @returns figures per row, in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 */
export function measureMismatch(
  logProbs: FloatArray,
  oldLogProbs: FloatArray,
  options: MismatchOptions,
): MismatchMeasures;
export function measureMismatch(
  logProbs: AnyFloatArray,
  oldLogProbs: AnyFloatArray,
  anywhere: MismatchOptions | Anywhere<MismatchOptions>,
): MismatchMeasures | DeviceMismatchMeasures {
  const options = anywhere as MismatchOptions;
  const op = "measureMismatch";
  const stream = streamOf(op, options, logProbs, oldLogProbs, options.mask);
  if (!stream) return measurePair(op, logProbs as FloatArray, oldLogProbs as FloatArray, options);
  const figures = figuresOf(
    op,
    logProbs as FloatArray,
    oldLogProbs as FloatArray,
    options,
    stream,
  ) as unknown as OnDevice<Figures>;
  return { ...figures, moments: new DeviceMoments(figures.moments), bounded: new DeviceMoments(figures.bounded) };
}

/** As measureMismatch, in the name of the public function `op`. */
export function measurePair(
  op: string,
  logProbs: FloatArray,
  oldLogProbs: FloatArray,
  options: MismatchOptions,
): MismatchMeasures {
  const { moments, bounded, differences, above, below } = figuresOf(op, logProbs, oldLogProbs, options, null);
  return { moments: new Moments(moments), bounded: new Moments(bounded), differences, above, below };
}

function newFigures(rows: number, stream: Stream | null): Figures {
  const sums = (width: number) => float64Or("", "", undefined, rows * width, stream);
  const counts = () => int32Or("", "", undefined, rows, stream);
  return {
    moments: sums(MOMENTS.length),
    bounded: sums(MOMENTS.length),
    differences: sums(1),
    above: counts(),
    below: counts(),
  };
}

const filled = fillingNew((rows) => newFigures(rows, null));

function figuresOf(
  op: string,
  logProbs: FloatArray,
  oldLogProbs: FloatArray,
  options: MismatchOptions,
  stream: Stream | null,
): Figures {
  const { rows, common } = needPair(op, logProbs, oldLogProbs, options);
  const { ops } = selectBackend(op, options.backend, stream);
  const fill = ({ moments, bounded, differences, above, below }: Figures): void =>
    ops.correctionMeasure({ moments, bounded, differences, above, below, ...common });
  if (!stream) return filled(rows.B, fill);
  const figures = newFigures(rows.B, stream);
  fill(figures);
  return figures;
}
