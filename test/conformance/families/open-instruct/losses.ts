// open-instruct: policy and value losses, KL terms.
import type { Mapping } from "../../mapping";

export const openInstructLosses: readonly Mapping[] = [];
