// The public surface, nothing else.
export { backendInfo, configure } from "./backend/select";
export type { BackendInfo, BackendOption, Configuration } from "./backend/select";
export type { BackendStatus } from "./backend/probe";
export type { BackendChoice, BackendName } from "./backend/backend";
export { SurprisalError } from "./core/errors";
export type { ErrorCode, ErrorDetails } from "./core/errors";
export type { DType, FloatArray } from "./core/dtype";
export type { RowLayout } from "./core/rows";
export * from "./ops/scan";
