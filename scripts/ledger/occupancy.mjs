// How many warps of a kernel a multiprocessor can hold, from the limits that CUDA documents (C++ Programming Guide,
// "Technical Specifications per Compute Capability", and the allocation rules of the occupancy calculator).

const KIB = 1024;
const WARP = 32;
const SCHEDULERS = 4; // each has a quarter of the registers and of the warps
const REGISTERS = 65536; // of a multiprocessor
const REGISTER_UNIT = 256; // a warp gets its registers in units of so many
const SHARED_UNIT = 128; // bytes
const SHARED_RESERVED = KIB; // bytes of every block, for the system, since sm_80

/** Of a block, unless an entry says otherwise. */
export const THREADS = 256;

/** By architecture: warps, blocks and bytes of shared memory of a multiprocessor. */
export const LIMITS = {
  sm_75: { warps: 32, blocks: 16, shared: 64 * KIB },
  sm_80: { warps: 64, blocks: 32, shared: 164 * KIB },
  sm_86: { warps: 48, blocks: 16, shared: 100 * KIB },
  sm_89: { warps: 48, blocks: 24, shared: 100 * KIB },
  sm_90: { warps: 64, blocks: 32, shared: 228 * KIB },
  sm_100: { warps: 64, blocks: 32, shared: 228 * KIB },
  sm_120: { warps: 48, blocks: 24, shared: 100 * KIB },
};

const roundUp = (value, unit) => Math.ceil(value / unit) * unit;

/** The share of an architecture's warps, and what holds the rest off. */
export function occupancy(arch, { threads, registers, sharedMemory }) {
  const limits = LIMITS[arch];
  const warps = Math.ceil(threads / WARP);
  const registersOfWarp = roundUp(Math.max(registers, 1) * WARP, REGISTER_UNIT);
  const warpsByRegisters = SCHEDULERS * Math.floor(REGISTERS / SCHEDULERS / registersOfWarp);
  const sharedOfBlock = roundUp(sharedMemory + (arch === "sm_75" ? 0 : SHARED_RESERVED), SHARED_UNIT);
  const blocks = {
    warps: Math.floor(limits.warps / warps),
    blocks: limits.blocks,
    registers: Math.floor(warpsByRegisters / warps),
    "shared memory": Math.floor(limits.shared / sharedOfBlock),
  };
  const [by, fit] = Object.entries(blocks).reduce((least, next) => (next[1] < least[1] ? next : least));
  return { blocks: fit, share: (fit * warps) / limits.warps, by };
}
