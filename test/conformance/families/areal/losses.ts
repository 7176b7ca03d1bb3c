// AReaL: policy and value losses, KL terms.
import type { Mapping } from "../../mapping";

export const arealLosses: readonly Mapping[] = [];
