export type { RatioLevel, RatioReduction } from "../../backend/contract/ratio";
export { clippedObjective, clippedObjectiveAsync, type ClippedObjectiveOptions, type ClippedObjectiveResult, type ClippedFigures, type DeviceClippedObjectiveResult } from "./clipped-objective";
export { logRatio, type LogRatioOptions, type LogRatioResult } from "./log-ratio";
export type { RatioOptions } from "./units";
