// 16-bit floats as bit patterns: IEEE binary16 ("float16") and the upper half of a binary32 ("bfloat16"). The same rounding,
// bit for bit, as native/shared/number.h.
import { refuseDevice } from "./device-arguments";
import { DeviceArray } from "./device-array";

export type HalfDType = "float16" | "bfloat16";

// One value seen as float32 and as its bits.
const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

function floatOf(pattern: number): number {
  bits[0] = pattern;
  return float[0]!;
}

/**
 * Bits of the float32 next to x, rounded "to odd": what does not fit survives as a sticky last bit, so that rounding the
 * result to 16 bits gives the nearest value of x itself and not of its float32.
 */
function oddFloatBits(x: number): number {
  const nearest = Math.fround(x);
  float[0] = nearest;
  const pattern = bits[0]!;
  if (nearest === x || Number.isNaN(nearest) || !Number.isFinite(nearest)) return pattern;
  const truncated = Math.abs(nearest) > Math.abs(x) ? pattern - 1 : pattern;
  return (truncated | 1) >>> 0;
}

/** The nearest float16 of a number, ties to even, as bits. From 65520 on: infinity. NaN stays NaN. */
export function toFloat16Bits(x: number): number {
  const pattern = oddFloatBits(x);
  const sign = (pattern >>> 16) & 0x8000;
  const magnitude = pattern & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Below 2^-14 the result is subnormal: adding 2^-1 puts the rounding at bit 2^-24 of the sum, ties to even.
    float[0] = floatOf(magnitude) + 0.5;
    return sign | (bits[0]! - 0x3f000000);
  }
  const rebased = magnitude - 0x38000000;
  return sign | ((rebased + 0xfff + ((rebased >>> 13) & 1)) >>> 13);
}

/** The number that float16 bits stand for. */
export function fromFloat16Bits(half: number): number {
  const sign = (half & 0x8000) << 16;
  const magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) return floatOf((sign | 0x7f800000 | ((magnitude & 0x3ff) << 13)) >>> 0);
  if (magnitude >= 0x400) return floatOf((sign | ((magnitude << 13) + 0x38000000)) >>> 0);
  const tiny = magnitude * 2 ** -24;
  return sign ? -tiny : tiny;
}

/** The nearest bfloat16 of a number, ties to even, as bits. NaN stays NaN. */
export function toBFloat16Bits(x: number): number {
  const pattern = oddFloatBits(x);
  if ((pattern & 0x7fffffff) > 0x7f800000) return (pattern >>> 16) | 0x40;
  return (pattern + 0x7fff + ((pattern >>> 16) & 1)) >>> 16;
}

/** The number that bfloat16 bits stand for. */
export function fromBFloat16Bits(half: number): number {
  return floatOf((half << 16) >>> 0);
}

/** The conversion into bits of a half type. */
export function halfEncoder(dtype: HalfDType): (x: number) => number {
  return dtype === "float16" ? toFloat16Bits : toBFloat16Bits;
}

const tables = new Map<HalfDType, Float32Array>();

/** The values of all 65536 patterns: reading a long array of bits is a look-up. */
export function halfTable(dtype: HalfDType): Float32Array {
  let table = tables.get(dtype);
  if (!table) {
    const decode = dtype === "float16" ? fromFloat16Bits : fromBFloat16Bits;
    table = Float32Array.from({ length: 65536 }, (_, pattern) => decode(pattern));
    tables.set(dtype, table);
  }
  return table;
}

/**
 * Numbers as the bits of a half type, each the nearest value, ties to even.
 *
 * @throws SurprisalError ERR_SURPRISAL_DTYPE for a DeviceArray: `toDevice(array, {dtype})` converts on the way there
 */
export function toHalfBits(values: ArrayLike<number>, dtype: HalfDType): Uint16Array {
  if (DeviceArray.is(values)) throw refuseDevice("toHalfBits", "values");
  const encode = halfEncoder(dtype);
  const out = new Uint16Array(values.length);
  for (let i = 0; i < out.length; ++i) out[i] = encode(values[i]!);
  return out;
}

/**
 * The numbers that bits of a half type stand for.
 *
 * @throws SurprisalError ERR_SURPRISAL_DTYPE for a DeviceArray, which is read first
 */
export function fromHalfBits(patterns: ArrayLike<number>, dtype: HalfDType): Float32Array {
  if (DeviceArray.is(patterns)) throw refuseDevice("fromHalfBits", "patterns");
  const table = halfTable(dtype);
  const out = new Float32Array(patterns.length);
  for (let i = 0; i < out.length; ++i) out[i] = table[patterns[i]!]!;
  return out;
}
