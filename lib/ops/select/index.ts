// Masks of the values that rank highest. docs/ops/select.md has the formulas side by side.
export type { SelectScope } from "../../backend/contract/select";
export { quantileMask } from "./quantile-mask";
export type { QuantileMaskOptions, QuantileMaskResult } from "./quantile-mask";
export { topMask } from "./top-mask";
export type { TopMaskOptions, TopMaskResult } from "./top-mask";
export type { SelectOptions } from "./units";
