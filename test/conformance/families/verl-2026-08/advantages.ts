// verl as of August 2026: advantages, weights, masks and metrics.
import type { Mapping } from "../../mapping";

export const verl202608Advantages: readonly Mapping[] = [];
