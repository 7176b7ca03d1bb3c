// prime-rl: advantages, weights, masks and metrics.
import type { Mapping } from "../../mapping";

export const primeRlAdvantages: readonly Mapping[] = [];
