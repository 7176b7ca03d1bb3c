// open-instruct: advantages, weights, masks and metrics.
import type { Mapping } from "../../mapping";

export const openInstructAdvantages: readonly Mapping[] = [];
