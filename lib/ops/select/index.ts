// Masks of the values that rank highest, and by covariance. docs/ops/select.md has the formulas side by side.
export type { SelectScope } from "./ranked-units";
export { covarianceMask, covarianceMaskAsync } from "./covariance-mask";
export type { CovarianceMaskOptions, CovarianceMaskResult, DeviceCovarianceMaskResult } from "./covariance-mask";
export { quantileMask, quantileMaskAsync } from "./quantile-mask";
export type { QuantileMaskOptions, QuantileMaskResult } from "./quantile-mask";
export { topMask, topMaskAsync } from "./top-mask";
export type { TopMaskOptions, TopMaskResult } from "./top-mask";
export type { SelectOptions, TopOptions } from "./ranked-units";
