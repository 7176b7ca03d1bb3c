// AReaL: advantages, weights, masks and metrics.
import type { Mapping } from "../../mapping";

export const arealAdvantages: readonly Mapping[] = [];
