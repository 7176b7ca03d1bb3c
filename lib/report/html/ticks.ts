// Where the marks of an axis stand.

/** About four round numbers between two ends. */
export function ticks(from: number, to: number): number[] {
  const rough = (to - from) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * unit).find((width) => width >= rough * 0.999)!;
  const first = Math.ceil(from / step - 1e-9);
  return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(10)),
  );
}
