// NeMo-RL: advantages, weights, masks and metrics.
import type { Mapping } from "../../mapping";

export const nemoRlAdvantages: readonly Mapping[] = [];
