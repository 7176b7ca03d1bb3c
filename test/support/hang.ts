/** After so long a program that a test started hangs. No time of a test: a loaded machine is no fault. */
export const HANG_MS = 10 * 60_000;
