// Finding and loading the native addon, once, on first need.
import { existsSync } from "node:fs";
import * as path from "node:path";

import type { DTypeCode } from "../core/dtype";
import { show } from "../core/errors";
import { hugePagesBy } from "../core/host-memory";
import { spacingsBy } from "../core/offsets";
import { packageRoot, requireHere } from "../core/package-root";
import type { OpName } from "./backend";
import { CONTRACTS } from "./contract/names";
import { processState } from "./process-state";
import { whatIsMissing } from "./whole-library";
import type { DeviceHandle, EventHandle, ExportedMemory, GraphHandle, MemoryStats } from "../core/device-runtime";

/** What native/binding/addon.cc exports. */
export interface Addon extends DeviceFunctions, MpiAddon, NcclAddon {
  /** Of which native/include/surprisal its tables were made. */
  readonly contracts: string;
  openCpu(): number;
  /** A session number, or the reason why the library could not be opened. */
  openLibrary(file: string, device: number): number | string;
  describe(session: number): NativeDescription | null;
  /** Threads that calls in host memory may use from now on; 0 = those available. Returns their number. */
  useThreads(threads: number): number;
  /** Asks for huge pages under a new array, all zeros, as far as they come without a stall. Bytes that lie in them. */
  useHugePages(array: ArrayBufferView): number;
  /** How far apart all of these offsets are, the first of which is 0; −1 where that differs, −2 where one is below the one ahead of it. */
  spacingOf(offsets: Int32Array): number;
  lastError(): string;
  /** The numbers of the next call, in the order of its op: written before it, read by it. */
  readonly numbers: Float64Array;
  readonly ops: Readonly<Record<OpName, NativeOp>>;
}

/** One op, called by HAND_OVER of contract/ops.ts. */
interface NativeOp {
  /** (session, null, ...arrays) → 0, or a status whose text lastError() has. */
  readonly call: (...values: unknown[]) => number;
  /** (session, stop, ...arrays): the same, off the event loop; a number if the call was refused at once. */
  readonly callAsync: (...values: unknown[]) => Promise<NativeFailure | null> | number;
}

/** For the memory, streams and graphs of a device: native/binding/device.h. A number where something else stands is a status. */
interface DeviceFunctions {
  deviceAlloc(session: number, bytes: number, dtype: DTypeCode, shared?: boolean): DeviceHandle | number;
  deviceView(array: DeviceHandle, byteOffset: number, bytes: number, dtype: DTypeCode): DeviceHandle | number;
  deviceRelease(array: DeviceHandle): void;
  deviceWrite(session: number, array: DeviceHandle, from: ArrayBufferView): number;
  deviceRead(session: number, array: DeviceHandle, to: ArrayBufferView): number;
  deviceReadAsync(session: number, array: DeviceHandle, to: ArrayBufferView): Promise<NativeFailure | null> | number;
  deviceCopy(session: number, to: DeviceHandle, from: DeviceHandle): number;
  /** A session beside this one, or the reason why there is none. */
  openStream(session: number): number | string;
  closeStream(session: number): void;
  streamSync(session: number): number;
  streamSyncAsync(session: number): Promise<NativeFailure | null> | number;
  streamDone(session: number): boolean;
  eventRecord(session: number): EventHandle | number;
  eventWait(session: number, event: EventHandle): number;
  eventSync(event: EventHandle): number;
  eventDone(event: EventHandle): boolean;
  /** NaN: lastError() says why. */
  eventElapsed(from: EventHandle, to: EventHandle): number;
  captureBegin(session: number): number;
  captureEnd(session: number): GraphHandle | number;
  graphLaunch(session: number, graph: GraphHandle): number;
  graphRelease(graph: GraphHandle): void;
  memoryStats(session: number): MemoryStats | number;
  memoryLimit(session: number, bytes: number): number;
  memoryTrim(session: number): number;
  ipcExport(session: number, array: DeviceHandle): ExportedMemory | number;
  ipcOpen(
    session: number,
    handle: Uint8Array,
    byteOffset: number,
    bytes: number,
    dtype: DTypeCode,
  ): DeviceHandle | number;
  fromPointer(session: number, pointer: bigint, bytes: number, dtype: DTypeCode): DeviceHandle | number;
  pointerOf(array: DeviceHandle): bigint | number;
}

/** For processes of an MPI job: native/binding/mpi.cc. A text where something else stands says why there is none. */
export interface MpiAddon {
  /** "": other ranks did not come within the milliseconds. */
  mpiOpen(
    shim: string,
    library: string | null,
    timeout: number,
  ): { readonly comm: number; readonly rank: number; readonly size: number; readonly library: string } | string;
  /** −1: too late. */
  mpiGroup(comm: number, ranks: Int32Array, tag: number, timeout: number): number | string;
  /** null: too late. */
  mpiTransfer(
    comm: number,
    kind: number,
    sent: Uint8Array,
    received: number,
    root: number,
    timeout: number,
  ): Uint8Array | string | null;
  mpiTransferAsync(
    comm: number,
    kind: number,
    sent: Uint8Array,
    received: number,
    root: number,
    timeout: number,
  ): Promise<Uint8Array | string | null>;
  mpiPost(comm: number, kind: number, sent: Uint8Array, received: number, root: number, timeout: number): void;
  mpiLeave(complete: boolean): void;
  mpiAbort(): void;
}

declare const NCCL_RANKS: unique symbol;

/** A list of ranks that NCCL knows. */
export interface NcclRanks {
  readonly [NCCL_RANKS]: true;
}

/** For ranks that meet over NCCL: native/binding/nccl.cc. A text is what NCCL says of a failure, a number of a call a status. */
export interface NcclAddon {
  /** The version of the library, as NCCL writes it (22304), or why there is none. */
  ncclOpen(library: string): number | string;
  ncclUniqueId(): Uint8Array | string;
  ncclJoin(session: number, id: Uint8Array, size: number, rank: number): NcclRanks | number | string;
  ncclGather(session: number, ranks: NcclRanks, sent: DeviceHandle, received: DeviceHandle): number | string;
  ncclBroadcast(
    session: number,
    ranks: NcclRanks,
    sent: DeviceHandle,
    received: DeviceHandle,
    root: number,
  ): number | string;
  /** Whether what was begun has ended, and the stream has come to the event. */
  ncclTest(ranks: NcclRanks, event: EventHandle | null): boolean | string;
  ncclWait(ranks: NcclRanks, event: EventHandle | null, milliseconds: number): boolean | string;
  ncclFinalize(ranks: NcclRanks): number | string;
  ncclDestroy(ranks: NcclRanks): void;
  ncclAbort(ranks: NcclRanks): void;
}

export interface NativeFailure {
  readonly status: number;
  readonly error: string;
}

export interface NativeDescription {
  readonly name: string;
  readonly available: boolean;
  /** Why not available; "" if it is. */
  readonly reason: string;
  /** Name of the device, or the instruction set. */
  readonly device: string;
  readonly deviceCount: number;
  /** 1000 * major + 10 * minor; 0 = none. */
  readonly driverVersion: number;
  readonly runtimeVersion: number;
  readonly computeMajor: number;
  readonly computeMinor: number;
  readonly memoryBytes: number;
  /** The platform's own error number, 0 if none. */
  readonly error: number;
}

/** Folders that may hold native files, first wins. SURPRISAL_NATIVE_PATH names one of the user's own. */
function nativeFolders(...built: readonly string[]): string[] {
  const own = process.env["SURPRISAL_NATIVE_PATH"];
  const folders = [...built, path.join("prebuilds", `${process.platform}-${process.arch}`)];
  const packaged = folders.map((folder) => path.join(packageRoot(), folder));
  return own ? [path.resolve(own), ...packaged] : packaged;
}

const firstIn = (folders: readonly string[], file: string): string | undefined =>
  folders.map((folder) => path.join(folder, file)).find((candidate) => existsSync(candidate));

/** The first existing `file` in the folders, or undefined. */
export const findNative = (file: string, ...built: readonly string[]): string | undefined =>
  firstIn(nativeFolders(...built), file);

/** The folder of another package, where it is installed beside this one. */
function folderOfPackage(name: string): string | undefined {
  try {
    return path.dirname(requireHere().resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

/** The library of a backend: built here, or of the package that carries it, surprisal-cuda. */
export function findLibrary(name: "cuda" | "emulated"): string | undefined {
  const file = `libsurprisal_${name}.so`;
  const carried = (): string | undefined => {
    const folder = folderOfPackage(`surprisal-${name}`);
    return folder === undefined ? undefined : firstIn([folder], file);
  };
  return findNative(file, `build-${name}`) ?? carried();
}

/** The session number of a backend's library, or the reason why it could not be opened. */
export function openLibrary(addon: Addon, file: string, device: number): number | string {
  const missing = whatIsMissing(file);
  return missing === undefined ? addon.openLibrary(file, device) : `${missing}; install or build it anew`;
}

/** Why there is no WebAssembly module. */
export const noWasmFile = (file: string): string =>
  `${file} is not in this package; \`node scripts/build.mjs wasm\` builds it in a clone`;

function builtAddon(): string {
  const { resolve } = requireHere()("node-gyp-build") as { readonly resolve: (folder: string) => string };
  return resolve(packageRoot());
}

function load(): Addon {
  const own = process.env["SURPRISAL_NATIVE_PATH"];
  const chosen = own ? path.join(path.resolve(own), "surprisal.node") : undefined;
  // A file under SURPRISAL_NATIVE_PATH is an explicit choice; without one there, the built or prebuilt addon is taken.
  const file = chosen && existsSync(chosen) ? chosen : builtAddon();
  const missing = whatIsMissing(file);
  if (missing) throw new Error(missing);
  return requireHere()(file) as Addon;
}

type Loaded = { readonly addon: Addon } | { readonly reason: string };

const state = processState<{ loaded?: Loaded }>("addon", {});

/** The addon, or why there is none. The answer does not change within a process. */
export function nativeAddon(): Loaded {
  return (state.loaded ??= loadOrReason());
}

hugePagesBy((array) => {
  const native = nativeAddon();
  return "addon" in native ? native.addon.useHugePages(array) : 0;
});

// For offsets alone no addon is loaded: they may be those of a process that wants none.
spacingsBy((offsets) => {
  const { loaded } = state;
  return loaded && "addon" in loaded ? loaded.addon.spacingOf(offsets) : undefined;
});

function loadOrReason(): Loaded {
  try {
    const addon = load();
    if (addon.contracts === CONTRACTS) return { addon };
    const of = `its contracts are ${show(addon.contracts)}, those of the package "${CONTRACTS}"`;
    return {
      reason: `the native addon was built from another version of this package: ${of}; \`npx surprisal build\` builds it anew`,
    };
  } catch (cause) {
    const text = cause instanceof Error ? cause.message.split("\n", 1)[0]! : String(cause);
    return {
      reason: `no native addon for ${process.platform}-${process.arch} (${text}); \`npx surprisal build\` builds it`,
    };
  }
}
