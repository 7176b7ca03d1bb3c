// surprisal/collective: workers and processes that compute the statistics of one batch together.
export type { Collective, CollectiveArray, CollectiveOption, CollectiveReduction } from "../core/collective";
export { openCollective } from "./open";
export type { OpenCollectiveOptions } from "./open";
export type { AsyncCollective, DeviceCalls, DeviceCollective, OpenedCollective } from "./opened";
export { createCollective } from "./shared-memory";
export type { CollectiveHandle, CreateCollectiveOptions } from "./shared-memory";
export { watchWorker } from "./workers";
export type { WatchedWorker } from "./workers";
