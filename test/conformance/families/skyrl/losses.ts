// SkyRL: policy and value losses, KL terms.
import type { Mapping } from "../../mapping";

export const skyrlLosses: readonly Mapping[] = [];
