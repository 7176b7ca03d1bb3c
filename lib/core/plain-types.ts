// The types of public functions, which take plain arrays wherever they take typed ones.

/** Numbers; nested ones are rows, and in the place of logits or hidden states a matrix. A mask may be of booleans. */
type PlainArray = readonly (number | boolean)[] | readonly (readonly (number | boolean)[])[];

/** A tensor of another library, as ONNX Runtime has it; its last dimension is that of a row. */
interface PlainTensor {
  readonly data: ArrayBufferView;
  readonly dims: readonly number[];
  readonly type: string;
}

type Field<T> = T extends ArrayBufferView ? T | PlainArray | PlainTensor : T;

/** An object whose arrays may be plain; those that a result is written into may not. */
export type PlainFields<T> = { readonly [Name in keyof T]: Name extends "out" ? T[Name] : Field<T[Name]> };

/** An argument that may be plain, or an object whose arrays may be. */
export type PlainArgument<T> = T extends ArrayBufferView
  ? T | PlainArray | PlainTensor
  : T extends readonly (infer Batch extends { readonly rewards: ArrayBufferView })[]
    ? readonly PlainFields<Batch>[]
    : T extends readonly unknown[] | ((...args: never) => unknown)
      ? T
      : T extends object
        ? PlainFields<T>
        : T;

/** Functions among the fields of an object: it is made of more than data then. */
type MethodsOf<T> = Extract<T[keyof T], (...args: never) => unknown>;

/**
 * A type without float64 wherever float32 may stand too: what a call takes whose arrays are all float32, and what it returns then.
 * What is float64 in any case stays.
 */
export type Float32Of<T> = Float32Array extends T
  ? Exclude<T, Float64Array>
  : T extends Promise<infer Inner>
    ? Promise<Float32Of<Inner>>
    : T extends readonly (Float32Array | Float64Array)[]
      ? { [Place in keyof T]: Float32Of<T[Place]> }
      : T extends ArrayBufferView | readonly unknown[] | ((...args: never) => unknown)
        ? T
        : T extends object
          ? [MethodsOf<T>] extends [never]
            ? { [Name in keyof T]: Float32Of<T[Name]> }
            : T
          : T;

/** Arguments that may be plain. */
export type PlainArguments<Args extends readonly unknown[]> = { [Place in keyof Args]: PlainArgument<Args[Place]> };

/** Where nested arrays were given, the rows of a result's flat arrays. */
export type Beside<Result> =
  Result extends Promise<infer Inner>
    ? Promise<Beside<Inner>>
    : Result extends ArrayBufferView | readonly unknown[]
      ? Result
      : Result extends object
        ? Result & { readonly offsets?: Int32Array }
        : Result;

/** Arguments whose arrays are float32. */
export type Float32Arguments<Args extends readonly unknown[]> = { [Place in keyof Args]: Float32Of<Args[Place]> };

/** The same function with plain arrays. Of float32 alone it returns float32. */
export type TakesPlain<F> = F extends (...args: infer Args) => infer Result
  ? {
      (...args: Float32Arguments<Args>): Float32Of<Result>;
      (...args: PlainArguments<Args>): Beside<Result>;
    }
  : never;

/** The two last overloads of a function: on the host and on a device, or with more and with less in the result. */
type Overloads<F> = F extends {
  (...args: infer First): infer FirstResult;
  (...args: infer Last): infer LastResult;
}
  ? [First, FirstResult, Last, LastResult]
  : never;

type OfOverloads<F, Calls> = Calls extends [
  infer First extends unknown[],
  infer FirstResult,
  infer Last extends unknown[],
  infer LastResult,
]
  ? {
      (...args: Float32Arguments<First>): Float32Of<FirstResult>;
      (...args: Float32Arguments<Last>): Float32Of<LastResult>;
    } & F & {
        (...args: PlainArguments<First>): Beside<FirstResult>;
        (...args: PlainArguments<Last>): Beside<LastResult>;
      }
  : never;

/** The same of a function with overloads. */
export type OverloadsTakePlain<F> = OfOverloads<F, Overloads<F>>;
