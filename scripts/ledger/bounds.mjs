// How fast a card can run a hot loop at best: by the bytes that an element moves, and by the instructions that it takes.

/**
 * A tensor instruction is mma.m16n8k16, 2,048 products; those of warpgroups (wgmma) count as many as they hold. Tensor cores reach their
 * peak on sm_90 by wgmma alone, and 0.62 of it by mma (Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking", 2024). A block that has them reads from L2, at about `l2` bytes a second.
 *
 * By architecture: a card of it, its multiprocessors, clock in Hz, bytes a second that a copy reaches, and how many instructions of a kind a multiprocessor begins in
 * a cycle, 32 lanes each, conversions (`wide`) by float64's unit where they have none of their own (CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions").
 */
export const CARDS = {
  sm_90: {
    title: "H200",
    multiprocessors: 132,
    clock: 1.755e9,
    bandwidth: 4.3e12,
    rates: { instructions: 4, float64: 2, wide: 0.5, special: 0.5, shared: 1, tensor: 0.62, warpgroup: 1 },
    tensorPeak: 1,
    l2: 5.5e12,
  },
  sm_89: {
    title: "RTX 4090",
    multiprocessors: 128,
    clock: 2.52e9,
    bandwidth: 0.92e12,
    rates: { instructions: 4, float64: 1 / 16, special: 0.5, shared: 1, tensor: 1 / 8, warpgroup: 1 / 8 },
    tensorPeak: 1 / 8,
    l2: 5e12,
  },
};

/**
 * Picoseconds an element by bytes and by the busiest unit, that unit, and the share that is left of the memory's speed, or of the tensor
 * cores' in a loop that has them.
 */
export function boundsOf(counts, { multiprocessors, clock, bandwidth, rates, tensorPeak, l2 }) {
  const products = (counts.tensor ?? 0) + (counts.warpgroup ?? 0);
  const bytes = (counts.bytes / (products ? l2 : bandwidth)) * 1e12;
  const cycle = 1e12 / clock / multiprocessors / 32; // of one lane
  const of = rates.wide ? counts : { ...counts, float64: (counts.float64 ?? 0) + (counts.wide ?? 0) };
  const [unit, issue] = Object.entries(rates)
    .map(([kind, rate]) => [kind, ((of[kind] ?? 0) / rate) * cycle])
    .reduce((most, next) => (next[1] > most[1] ? next : most));
  const roof = products ? (products / tensorPeak) * cycle : bytes;
  return { bytes, issue, unit, share: roof / Math.max(bytes, issue) };
}
