// Parameters of this machine from what calls took here, for one MPI.
import type { MeasuredCall } from "./measure";
import { type Parameters, secondsOf } from "./machine";

/** Even, and high: what counts is the call that is furthest off. */
const POWER = 20;
const STARTS = 6;
const NAMES = ["handOff", "round", "byte", "copy", "wake"] as const;

/** Where the search begins: 20 µs, 2 µs, 10 GB/s, 2 GB/s, 20 µs. */
const BEGIN: Parameters = { cores: 1, handOff: 2e-5, round: 2e-6, byte: 1e-10, copy: 5e-10, wake: 2e-5 };

/** Of each call: what the simulation says, over the fastest batch that was measured: it knows of no other work, and of no collector. */
export function sharesOf(calls: readonly MeasuredCall[], parameters: Parameters): number[] {
  const simulated = new Map<string, number>(); // short calls are one message each, and the same
  return calls.map((call) => {
    const key = `${call.ranks} ${call.bytes > 32 ? `${call.call} ${call.bytes}` : ""}`;
    const seconds = simulated.get(key) ?? secondsOf(call, call.ranks, parameters);
    simulated.set(key, seconds);
    return (1e6 * seconds) / call.fastest;
  });
}

/** How far off: above all by the largest deviation. */
const error = (calls: readonly MeasuredCall[], parameters: Parameters): number =>
  sharesOf(calls, parameters).reduce((sum, share) => sum + (share - 1) ** POWER, 0);

function generator(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

/** Coordinate by coordinate in ever smaller steps from one place. */
function descended(calls: readonly MeasuredCall[], from: Parameters): readonly [Parameters, number] {
  let best = from;
  let least = error(calls, best);
  for (let factor = 4; factor > 1.005; factor = Math.sqrt(factor))
    for (let again = true; again;) {
      again = false;
      for (const name of NAMES)
        for (const by of [factor, 1 / factor]) {
          const changed = { ...best, [name]: best[name] * by };
          const own = error(calls, changed);
          if (own >= least * (1 - 1e-6)) continue;
          [best, least, again] = [changed, own, true];
        }
    }
  return [best, least];
}

/** The best of descents from many places, the same on every machine. */
export function fitted(calls: readonly MeasuredCall[], cores: number): Parameters {
  const random = generator(1);
  let [best, least] = descended(calls, { ...BEGIN, cores });
  for (let start = 1; start < STARTS; ++start) {
    const from: Parameters = { ...BEGIN, cores };
    const moved = NAMES.map((name) => [name, from[name] * 30 ** (2 * random() - 1)] as const);
    const [found, own] = descended(calls, { ...from, ...Object.fromEntries(moved) });
    if (own < least) [best, least] = [found, own];
  }
  return best;
}
