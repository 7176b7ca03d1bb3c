// prime-rl: policy and value losses, KL terms.
import type { Mapping } from "../../mapping";

export const primeRlLosses: readonly Mapping[] = [];
