// ROLL: advantages, weights, masks and metrics.
import type { Mapping } from "../../mapping";

export const rollAdvantages: readonly Mapping[] = [];
