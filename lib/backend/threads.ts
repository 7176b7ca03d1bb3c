// How many threads a call on the cpu backend may use: configure(), else SURPRISAL_THREADS, else the CPUs of this process.
// Results do not depend on it.
import { optionError } from "../core/errors";
import { needNumber } from "../core/option-checks";
import type { Addon } from "./addon";
import { variable } from "./platform";
import { processState } from "./process-state";

const RANGE = { min: 1, max: 1024, integer: true } as const; // SRP_MAX_THREADS of native/include/surprisal/cpu.h

const state = processState<{ configured?: number | undefined; opened?: Addon; inUse?: number | undefined }>(
  "threads",
  {},
);

export function needThreads(op: string, value: unknown): number {
  return needNumber(op, "threads", value, RANGE);
}

function threadsOfEnvironment(): number | undefined {
  const text = variable("SURPRISAL_THREADS");
  if (!text) return undefined;
  const threads = Number(text);
  if (Number.isInteger(threads) && threads >= RANGE.min && threads <= RANGE.max) return threads;
  throw optionError("SURPRISAL_THREADS", "the variable", text, `an integer in [${RANGE.min}, ${RANGE.max}]`);
}

function apply(): void {
  const threads = state.configured ?? threadsOfEnvironment();
  const available = state.opened?.useThreads(threads ?? 0);
  state.inUse = state.opened && (threads ?? available);
}

/** Tells the addon how many threads its calls may use, now and after every configureThreads(). */
export function useThreads(addon: Addon): void {
  state.opened = addon;
  apply();
}

/** A checked number, or undefined for what the environment says. */
export function configureThreads(threads: number | undefined): void {
  state.configured = threads;
  apply();
}

/** Threads that a call on the cpu backend may use here, its own included; undefined before that backend is open. */
export function threadsInUse(): number | undefined {
  return state.inUse;
}
