import { average, deviation } from "../scalar-metrics";

/** Mean and std (ddof 0) of one number or more. Equal numbers give themselves and exactly 0, which a rounded mean would not. */
export function meanAndStd(numbers: readonly number[]): [mean: number, std: number] {
  const first = numbers[0]!;
  if (numbers.every((x) => x === first)) return [first, 0];
  return [average(numbers), deviation(numbers, 0)];
}
