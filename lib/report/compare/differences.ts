// What a run has more or less of than the first one.
import type { Difference } from "./comparison";
import { mean } from "../distribution";
import { apartInterval, pairedInterval } from "./bootstrap";
import type { PromptFigures } from "./prompts-of-run";

/** An advantage has mean 0 by its making: a difference of two says nothing. */
const NOT_COMPARED = "advantage";
/** Fewer prompts in common do not carry an interval. */
const LEAST_PAIRS = 5;

const meanFor = (prompt: PromptFigures | undefined, figure: string): number | undefined => {
  const sums = prompt?.figures.get(figure);
  return sums && sums.sum / sums.count;
};

function valuesOf(prompts: Iterable<PromptFigures>, figure: string): Float64Array {
  return Float64Array.from(Array.from(prompts).flatMap((prompt) => meanFor(prompt, figure) ?? []));
}

function difference(
  first: ReadonlyMap<string, PromptFigures>,
  other: ReadonlyMap<string, PromptFigures>,
  figure: string,
  run: number,
): Difference | undefined {
  const pairs = Array.from(first).flatMap(([key, prompt]) => {
    const [one, two] = [meanFor(prompt, figure), meanFor(other.get(key), figure)];
    return one === undefined || two === undefined ? [] : [[one, two] as const];
  });
  const paired = pairs.length >= LEAST_PAIRS;
  const ones = paired ? Float64Array.from(pairs, ([one]) => one) : valuesOf(first.values(), figure);
  const twos = paired ? Float64Array.from(pairs, ([, two]) => two) : valuesOf(other.values(), figure);
  if (ones.length === 0 || twos.length === 0) return undefined;
  const gaps = paired ? Float64Array.from(twos, (two, i) => two - ones[i]!) : undefined;
  const [low, high] = gaps ? pairedInterval(gaps) : apartInterval(ones, twos);
  const [here, base] = [mean(twos), mean(ones)];
  return {
    figure,
    run,
    first: base,
    mean: here,
    difference: gaps ? mean(gaps) : here - base,
    low,
    high,
    paired,
    prompts: [ones.length, twos.length],
  };
}

/** Every figure that the first run and another one have. */
export function differencesOf(runs: readonly ReadonlyMap<string, PromptFigures>[]): Difference[] {
  const [first, ...others] = runs;
  if (first === undefined) return [];
  const figures = new Set(Array.from(first.values()).flatMap((prompt) => Array.from(prompt.figures.keys())));
  figures.delete(NOT_COMPARED);
  return Array.from(figures).flatMap((figure) =>
    others.flatMap((other, i) => difference(first, other, figure, i + 1) ?? []),
  );
}
