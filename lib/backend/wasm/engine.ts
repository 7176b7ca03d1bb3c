// The part of the engine's WebAssembly that is used. TypeScript has its types with those of browsers alone.

/** A compiled module. */
export type WasmCode = object;

interface Engine {
  readonly Module: new (bytes: ArrayBuffer | ArrayBufferView) => WasmCode;
  readonly Instance: new (module: WasmCode, imports: object) => { readonly exports: unknown };
}

/** Undefined where the engine has none. */
export const webAssembly = (): Engine | undefined => (globalThis as { readonly WebAssembly?: Engine }).WebAssembly;
