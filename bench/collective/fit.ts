// Parameters of this machine from what calls took here, for one MPI.
import type { MeasuredCall } from "./measure";
import { type Parameters, secondsOf } from "./machine";

const NAMES = ["handOff", "round", "byte", "copy", "wake"] as const;

/** Where the search begins: 20 µs, 2 µs, 10 GB/s, 2 GB/s, 20 µs. */
const BEGIN: Parameters = { cores: 1, handOff: 2e-5, round: 2e-6, byte: 1e-10, copy: 5e-10, wake: 2e-5 };

/** Of each call: what the simulation says, over what was measured. */
export function sharesOf(calls: readonly MeasuredCall[], parameters: Parameters): number[] {
  return calls.map((call) => (1e6 * secondsOf(call, call.ranks, parameters)) / call.median);
}

/** The largest deviation, as a factor's logarithm: too short is as wrong as too long. */
const worst = (calls: readonly MeasuredCall[], parameters: Parameters): number =>
  Math.max(...sharesOf(calls, parameters).map((share) => Math.abs(Math.log(share))));

/** Coordinate by coordinate in ever smaller steps, from one place: the same numbers on every machine. */
export function fitted(calls: readonly MeasuredCall[], cores: number): Parameters {
  let best: Parameters = { ...BEGIN, cores };
  let error = worst(calls, best);
  for (let factor = 4; factor > 1.005; factor = Math.sqrt(factor))
    for (let again = true; again;) {
      again = false;
      for (const name of NAMES)
        for (const by of [factor, 1 / factor]) {
          const changed = { ...best, [name]: best[name] * by };
          const own = worst(calls, changed);
          if (own >= error - 1e-9) continue;
          [best, error, again] = [changed, own, true];
        }
    }
  return best;
}
