// What contenders of this package are called in results.

/** The build that results are about. */
export const OURS = "surprisal";

/** The same build on one thread, beside a case of more. */
export const ONE_THREAD = `${OURS} on one thread`;

/** The same build on its JavaScript backend. */
export const ON_JS = `${OURS} on js`;

/** The same build on its WebAssembly backend. */
export const ON_WASM = `${OURS} on wasm`;

/** The same work into memory that was used before. */
export const REUSED = `${OURS} into memory used before`;

/** This package at another instruction set. */
export function levelContender(level: string): string {
  return `${OURS} at ${level}`;
}

/** Another revision of this package. */
export function revisionContender(commit: string): string {
  return `${OURS} ${commit}`;
}
