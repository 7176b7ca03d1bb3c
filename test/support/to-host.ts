// Results of calls on devices as host calls have them.
import { DeviceArray } from "../../lib/core/device-array";
import { DeviceSummary } from "../../lib/core/device-summary";
import { DeviceMoments, Moments } from "../../lib/ops/reduce";
import { DeviceSpans } from "../../lib/ops/delim";

/** Typed arrays and numbers alike as lists of numbers: a number may be an array of one. */
function numbers(value: ArrayBufferView | number): unknown {
  return typeof value === "number"
    ? [value]
    : [...(value as unknown as ArrayLike<number> as unknown as number[])].map(Number);
}

/** A result with everything read, numbers as lists of one, summaries spread into it. */
export function toHost(result: unknown): unknown {
  if (DeviceArray.is(result)) return numbers(result.read());
  if (typeof result === "number" || ArrayBuffer.isView(result)) return numbers(result);
  if (result instanceof DeviceSummary || result instanceof DeviceSpans) return toHost((result as DeviceSpans).read());
  if (result instanceof DeviceMoments || result instanceof Moments) return { partials: toHost(result.partials) };
  if (Array.isArray(result)) return result.map(toHost);
  if (typeof result !== "object" || result === null) return result;
  const { summary, ...rest } = result as { readonly summary?: DeviceSummary<object> };
  const fields = { ...rest, ...summary?.read() };
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, toHost(value)]));
}
