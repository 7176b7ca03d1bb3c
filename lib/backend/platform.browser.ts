// platform.ts in a browser.

/** There is no environment. */
export const variable = (_name: string): string | undefined => undefined;

export const engine = (): string => "browser";

/** A timer, which lets the page draw. */
export const turnOfLoop = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

/** The module is the most that a page can have. */
export const remedyFor = (backend: string): string | undefined =>
  backend === "wasm" ? undefined : "configure({ wasm }) hands over the WebAssembly module.";

export function warn(text: string, code: string, detail: string): void {
  console.warn(`${code}: ${text}\n${detail}`);
}
