// How far two policies' log-probs are apart, and what is done about it. docs/ops/correction.md has the formulas.
export type { MismatchStatistic, OutsideRule } from "../../backend/contract/correction";
export { boundMismatch } from "./bound";
export type { BoundMismatchOptions, BoundMismatchResult } from "./bound";
export { measureMismatch } from "./measure";
export type { DeviceMismatchMeasures, MismatchMeasures } from "./measure";
export type { MismatchOptions } from "./pair";
