// addon.ts in a browser, which has neither native code nor files.

export const findNative = (): undefined => undefined;

export const findLibrary = (): undefined => undefined;

export const openLibrary = (): string => "a browser runs no native code";

export const noWasmFile = (file: string): string =>
  `a browser finds no ${file} by itself; configure({ wasm }) takes its bytes`;

export const nativeAddon = (): { readonly reason: string } => ({ reason: "a browser runs no native code" });
