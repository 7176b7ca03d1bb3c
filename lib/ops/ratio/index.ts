export type { RatioLevel, RatioReduction } from "../../backend/contract/ratio";
export { logRatio, type LogRatioOptions, type LogRatioResult } from "./log-ratio";
export type { RatioOptions } from "./ratio-units";
