// slime: advantages, weights, masks and metrics.
import type { Mapping } from "../../mapping";

export const slimeAdvantages: readonly Mapping[] = [];
