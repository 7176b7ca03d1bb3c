// How fast a card can run a hot loop at best: by the bytes that an element moves, and by the instructions that it takes.

/**
 * Multiprocessors, clock in Hz, bytes a second that a copy reaches, and how many instructions of a kind a multiprocessor begins in
 * a cycle, 32 lanes each (CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions").
 */
export const CARDS = {
  "H200 (sm_90)": {
    multiprocessors: 132,
    clock: 1.755e9,
    bandwidth: 4.3e12,
    rates: { instructions: 4, float64: 2, wide: 0.5, special: 0.5, shared: 1 },
  },
  "RTX 4090 (sm_89)": {
    multiprocessors: 128,
    clock: 2.52e9,
    bandwidth: 0.92e12,
    rates: { instructions: 4, float64: 1 / 16, wide: 1 / 16, special: 0.5, shared: 1 },
  },
};

/** Picoseconds an element by bytes and by the busiest unit, that unit, and the share of the memory's speed that is left. */
export function boundsOf(counts, { multiprocessors, clock, bandwidth, rates }) {
  const bytes = (counts.bytes / bandwidth) * 1e12;
  const cycle = 1e12 / clock / multiprocessors / 32; // of one lane
  const [unit, issue] = Object.entries(rates)
    .map(([kind, rate]) => [kind, (counts[kind] / rate) * cycle])
    .reduce((most, next) => (next[1] > most[1] ? next : most));
  return { bytes, issue, unit, share: bytes / Math.max(bytes, issue) };
}
