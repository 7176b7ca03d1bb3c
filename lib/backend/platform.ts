// What the backends ask of Node. platform.browser.ts takes this file's place in what browsers load.
import { setImmediate } from "node:timers/promises";

/** A variable of the environment; undefined where it is not set. */
export const variable = (name: string): string | undefined => process.env[name];

/** The engine of the js backend. */
export const engine = (): string => `Node ${process.versions.node}`;

/** Lets the event loop turn once. */
export const turnOfLoop = (): Promise<void> => setImmediate();

/** Says something that went well and is worth knowing, once. */
export function warn(text: string, code: string, detail: string): void {
  process.emitWarning(text, { type: "SurprisalWarning", code, detail });
}
