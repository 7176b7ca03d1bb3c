// The types of calls on DeviceArrays, from those of calls on host arrays.
import type { DeviceArray, DeviceFloatArray } from "./device-array";
import type { FloatArray } from "./dtype";
import type { Stream } from "./stream";

/** float32 or float64 data in ordinary memory or on a device. */
export type AnyFloatArray = FloatArray | DeviceFloatArray;

/** The device array that takes the place of a host array; anything else stays as it is. */
type Sent<T> = FloatArray extends T ? DeviceFloatArray | SentOne<Exclude<T, FloatArray>> : SentOne<T>;

type SentOne<T> = T extends Float32Array
  ? DeviceArray<"float32">
  : T extends Float64Array
    ? DeviceArray<"float64">
    : T extends Int32Array
      ? DeviceArray<"int32">
      : T extends Uint8Array
        ? DeviceArray<"uint8">
        : T extends Uint16Array
          ? DeviceArray<"float16" | "bfloat16">
          : T;

/** A result whose arrays and numbers lie on a device, a number as an array of one; what `Host` names stays. */
export type OnDevice<Result, Host extends keyof Result = never> = {
  [Name in keyof Result]: Name extends Host
    ? Result[Name]
    : Result[Name] extends number
      ? DeviceArray<"float64">
      : Sent<Result[Name]>;
};

type Outputs<Out> = Out extends object ? { [Name in keyof Out]: Sent<Out[Name]> } : Out;

/** Structure: sizes and groups are read on the host. */
type Structure = "shape" | "offsets" | "groups" | "groupOffsets";

/** Option of every call on DeviceArrays. */
export interface StreamOption {
  /** What the call is enqueued on. Default: the stream of the first of its DeviceArrays. */
  readonly stream?: Stream;
}

/** Options whose arrays may lie on a device, and whose outputs must. */
export type Anywhere<Options> = StreamOption & {
  [Name in keyof Options]: Name extends Structure
    ? Options[Name]
    : Name extends "out"
      ? Outputs<Options[Name]>
      : Options[Name] | Sent<Options[Name]>;
};
