export { divergence, divergenceAsync, divergenceBackward, divergenceBackwardAsync } from "./divergence";
export type { DivergenceBackwardOptions, DivergenceOptions } from "./divergence";
export { topLogits } from "./top-logits";
export type { DeviceTopLogitsOptions, TopLogitsOptions } from "./top-logits";
export type { LogitPairLayout } from "./pairs";
export type { Outside, SupportOptions } from "./support";
