// Lines of results for tests, with only what a test is about spelled out.
import type { ResultLine } from "../../bench/record";

const RUN = {
  date: "2026-01-02T03:04:05.000Z",
  commit: "0123456789ab",
  machine: "Some CPU",
  cores: 4,
  caches: "L2 1M",
  pages: "4 KiB",
  pinned: true,
  versions: { node: "20.0.0", torch: "2.0" },
  roofs: "avx512",
} as const;

export const even = (x: number) => ({ median: x, p20: 0.9 * x, p80: 1.1 * x });

export function resultLine(fields: Partial<ResultLine>): ResultLine {
  return {
    format: 1,
    run: RUN,
    kernel: "logprob",
    op: "logprob",
    backend: "cpu",
    level: "avx512",
    contender: "surprisal",
    shape: { name: "Qwen vocabulary", sizes: [512, 151_936] },
    dtype: "float32",
    rowKind: "normal",
    threads: 1,
    metric: "time",
    unit: "ms",
    time: even(10),
    repetitions: 15,
    error: { entropies: { maxAbs: 1e-7, maxRel: 2e-7, budget: "1e-6·|x| + 1e-12", used: 0.2 } },
    ...fields,
  };
}
