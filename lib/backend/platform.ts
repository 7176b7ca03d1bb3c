// What the backends ask of Node. platform.browser.ts takes this file's place in what browsers load.
import { setImmediate } from "node:timers/promises";

/** A variable of the environment; undefined where it is not set. */
export const variable = (name: string): string | undefined => process.env[name];

/** The engine of the js backend. */
export const engine = (): string => `Node ${process.versions.node}`;

/** Lets the event loop turn once. */
export const turnOfLoop = (): Promise<void> => setImmediate();

/** What helps where that backend takes the place of native code; undefined where nothing is faster. */
export const remedyFor = (_backend: string): string | undefined => "`npx surprisal doctor` says what is missing.";

/** Says something that went well and is worth knowing, once. */
export function warn(text: string, code: string, detail: string): void {
  process.emitWarning(text, { type: "SurprisalWarning", code, detail });
}
