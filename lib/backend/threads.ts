// How many threads a call on the cpu backend may use: configure(), else SURPRISAL_THREADS, else the CPUs of this process.
// Results do not depend on it.
import { argumentError } from "../core/errors";
import { needNumber } from "../core/option-checks";
import type { Addon } from "./addon";

const RANGE = { min: 1, max: 1024, integer: true } as const; // SRP_MAX_THREADS of native/include/surprisal/cpu.h

let configured: number | undefined;
let opened: Addon | undefined;
let inUse: number | undefined;

export function needThreads(op: string, value: unknown): number {
  return needNumber(op, "threads", value, RANGE);
}

function threadsOfEnvironment(): number | undefined {
  const text = process.env["SURPRISAL_THREADS"];
  if (!text) return undefined;
  const threads = Number(text);
  if (Number.isInteger(threads) && threads >= RANGE.min && threads <= RANGE.max) return threads;
  throw argumentError(
    "ERR_SURPRISAL_OPTION",
    "SURPRISAL_THREADS",
    "the variable",
    text,
    `an integer in [${RANGE.min}, ${RANGE.max}]`,
  );
}

function apply(): void {
  const threads = configured ?? threadsOfEnvironment();
  const available = opened?.useThreads(threads ?? 0);
  inUse = opened && (threads ?? available);
}

/** Tells the addon how many threads its calls may use, now and after every configureThreads(). */
export function useThreads(addon: Addon): void {
  opened = addon;
  apply();
}

/** A checked number, or undefined for what the environment says. */
export function configureThreads(threads: number | undefined): void {
  configured = threads;
  apply();
}

/** Threads that a call on the cpu backend may use here, its own included; undefined before that backend is open. */
export function threadsInUse(): number | undefined {
  return inUse;
}
