// NeMo-RL: policy and value losses, KL terms.
import type { Mapping } from "../../mapping";

export const nemoRlLosses: readonly Mapping[] = [];
