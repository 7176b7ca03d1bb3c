// Contenders timed side by side: in every repetition each runs once, right after the others, in an order that rotates and turns round:
// what a contender leaves to be cleared up meets more than one of the others.

export interface Contender {
  readonly name: string;
  /** Not timed, ahead of every run: poisons outputs, restores inputs, moves to other cores. */
  readonly prepare?: () => void;
  /** A number that it answers, or promises, is its own seconds: it runs in another process. Else it is timed from here. */
  readonly run: () => unknown;
  /** Told of a failed run, after which the contender sits out. Without it a failure ends the bench. */
  readonly forgiven?: (error: unknown) => void;
}

export interface Pace {
  readonly repetitions: number;
  /** A contender that would take longer in all sits out the later repetitions, but for `least` of them. */
  readonly secondsEach: number;
  readonly least: number;
}

/** Shorter runs are repeated within one sample: a timer and a poisoned cache line would be most of what is seen. */
const SHORTEST_SAMPLE = 1e-3;
const MOST_CALLS = 4096;
/** A short function is only itself once all of it has been compiled, as in a loop that trains; here on the core that calls it. */
const WARM_CALLS = 100_000;
const WARM_SECONDS = 0.5;

/** Where repetition r begins among n contenders, and who comes behind: once all have begun, in the other direction. */
export function rotation(n: number, r: number): number[] {
  const step = Math.floor(r / n) % 2 === 0 ? 1 : n - 1;
  return Array.from({ length: n }, (_, i) => (r + i * step) % n);
}

/** Seconds of one run, `calls` of them in one sample. */
export async function timeOf(contender: Contender, calls = 1): Promise<number> {
  contender.prepare?.();
  const began = performance.now();
  let own = 0;
  for (let i = 0; i < calls; ++i) {
    const answer = contender.run();
    const outcome: unknown = answer instanceof Promise ? await answer : answer;
    if (typeof outcome === "number") own += outcome;
  }
  const elapsed = (performance.now() - began) / 1e3;
  return (own > 0 ? own : elapsed) / calls;
}

/** NaN where it failed and may. */
async function attempt(contender: Contender, time: () => Promise<number>): Promise<number> {
  try {
    return await time();
  } catch (error) {
    if (!contender.forgiven) throw error;
    contender.forgiven(error);
    return NaN;
  }
}

/** Seconds of one run among many. */
async function warmTimeOf(contender: Contender): Promise<number> {
  const few = await timeOf(contender, 10);
  return timeOf(contender, Math.ceil(Math.min(WARM_CALLS, WARM_SECONDS / few)));
}

/**
 * Seconds by contender and repetition, the first (warm-up) one left out; NaN where a contender sat out. Contenders of the
 * least time take part in all repetitions.
 */
export async function pair(contenders: readonly Contender[], pace: Pace): Promise<Map<string, number[]>> {
  const plans = [];
  for (const contender of contenders) {
    const first = await attempt(contender, () => timeOf(contender));
    const warm = first < SHORTEST_SAMPLE ? await warmTimeOf(contender) : first;
    if (Number.isNaN(warm)) continue;
    const calls = Math.min(MOST_CALLS, Math.max(1, Math.ceil(SHORTEST_SAMPLE / warm)));
    const affordable = Math.floor(pace.secondsEach / Math.max(warm * calls, 1e-9));
    plans.push({ contender, calls, turns: Math.min(pace.repetitions, Math.max(pace.least, affordable)) });
  }
  const samples = new Map(contenders.map(({ name }) => [name, new Array<number>(pace.repetitions).fill(NaN)]));
  for (let r = 0; r < pace.repetitions; ++r)
    for (const i of rotation(plans.length, r)) {
      const plan = plans[i]!;
      if (r >= plan.turns) continue;
      const seconds = await attempt(plan.contender, () => timeOf(plan.contender, plan.calls));
      samples.get(plan.contender.name)![r] = seconds;
      if (Number.isNaN(seconds)) plan.turns = 0;
    }
  return samples;
}
