// SkyRL: advantages, weights, masks and metrics.
import type { Mapping } from "../../mapping";

export const skyrlAdvantages: readonly Mapping[] = [];
