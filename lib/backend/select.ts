// Which backend runs a call: the call's own choice, else configure(), else SURPRISAL_BACKEND, else the rule of `auto`.
import type { ArenaOption } from "../core/arena";
import { needNumber } from "../core/option-checks";
import { optionError } from "../core/errors";
import { type Backend, BACKEND_NAMES, type BackendName, type BackendPreference } from "./backend";
import { configureWarnings, warning } from "./fallback";
import { variable } from "./platform";
import { needPreference, openFirst, preferenceOfText } from "./preference";
import { type BackendStatus, probe, probeAgain } from "./probe";
import { processState } from "./process-state";
import type { Stream } from "../core/stream";
import { bySize, SMALL_CALLS } from "./small-calls";
import { streamBackend } from "./streams";
import { configureThreads, needThreads, threadsInUse } from "./threads";
import { giveWasm } from "./wasm/module";

/** Option of every op. */
export interface BackendOption extends ArenaOption {
  /**
   * Where this call runs. A name is obeyed or refused with ERR_SURPRISAL_BACKEND_UNAVAILABLE, never replaced; of a list,
   * `["cuda", "cpu", "js"]`, the first that can run here is taken.
   * Default: what configure() or SURPRISAL_BACKEND name, else "auto".
   */
  readonly backend?: BackendPreference;
}

export interface Configuration {
  /** Backend of calls that name none, or names in order of preference. Default "auto". */
  readonly backend?: BackendPreference | undefined;
  /** Number of the CUDA device. Default 0. */
  readonly device?: number | undefined;
  /**
   * Threads that a call on cpu may use, its own included: 1 to 1024. Results do not depend on it. Default: SURPRISAL_THREADS,
   * else the CPUs that this process may use.
   */
  readonly threads?: number | undefined;
  /**
   * Whether the first large call that "auto" runs in WebAssembly or in plain JavaScript, because the native addon cannot be
   * loaded, emits a process warning with the code SURPRISAL_FALLBACK. Default true.
   */
  readonly warnings?: boolean | undefined;
  /**
   * The bytes of `surprisal/surprisal.wasm`, or the WebAssembly.Module made of them, for the backend "wasm" where there is no
   * package to read the file from: in a browser, in a bundle. Default: the package's file.
   */
  readonly wasm?: ArrayBuffer | ArrayBufferView | object | undefined;
}

/** What `backendInfo()` returns. */
export interface BackendInfo {
  /** The backend of calls that name none, and where that setting comes from. */
  readonly requested: BackendPreference;
  readonly source: "default" | "SURPRISAL_BACKEND" | "configure";
  /** The backend that such a call on host arrays gets, unless it is small; absent when the requested one cannot run. */
  readonly selected?: BackendName;
  /** Threads that a call on cpu may use; absent where the cpu backend cannot run. */
  readonly threads?: number;
  /** The rule of "auto", in words. */
  readonly rule: string;
  readonly backends: readonly BackendStatus[];
}

const SMALL = Object.entries(SMALL_CALLS).map(([op, bytes]) => `${op} up to ${bytes} bytes`);

const RULE =
  "DeviceArrays run where they lie. auto: host arrays run on cpu where the native addon can load, else on wasm, else on js; cuda and emulated run only when asked for by name; " +
  `small calls stay in js: ${SMALL.join(", ")}, losses without a KL term and for their sums alone`;

interface Settings {
  configured: Configuration;
  /** SURPRISAL_BACKEND, read once: a look into the environment costs more than a small call. */
  variable?: BackendPreference | "";
  /** What runs calls of "auto": made once, since what a probe answers does not change. */
  automatic?: Backend;
}

const settings = processState<Settings>("settings", { configured: {} });

function takeWasm(given: unknown): void {
  if (typeof given !== "object" || given === null)
    throw optionError("configure", "wasm", given, "the bytes of surprisal.wasm, or a module of them");
  giveWasm(given);
  probeAgain("wasm");
  delete settings.automatic;
  open("configure", "wasm", 0);
}

const CONFIGURABLE = ["backend", "device", "threads", "warnings", "wasm"];

/**
 * Sets defaults for this process (each worker thread has its own). Given fields replace earlier ones; `undefined` takes
 * one back.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for an unknown field or value; ERR_SURPRISAL_BACKEND_UNAVAILABLE when the
 * backend cannot run here. The configuration is then unchanged.
 */
export function configure(options: Configuration): void {
  for (const name of Object.keys(options))
    if (!CONFIGURABLE.includes(name))
      throw optionError("configure", "option", name, `one of ${CONFIGURABLE.join(", ")}`);
  const next = { ...settings.configured, ...options };
  if (next.device !== undefined) needNumber("configure", "device", next.device, { min: 0, max: 1023, integer: true });
  if (next.threads !== undefined) needThreads("configure", next.threads);
  if (next.warnings !== undefined && typeof next.warnings !== "boolean")
    throw optionError("configure", "warnings", next.warnings, "true or false");
  if (options.wasm !== undefined) takeWasm(options.wasm);
  if (next.backend !== undefined && needPreference("configure", "backend", next.backend) !== "auto")
    open("configure", next.backend as BackendName | readonly BackendName[], next.device ?? 0);
  settings.configured = next;
  configureThreads(next.threads);
  configureWarnings(next.warnings ?? true);
}

const VARIABLE = "SURPRISAL_BACKEND";

function variableOfEnvironment(): BackendPreference | "" {
  const text = variable(VARIABLE);
  return text ? needPreference(VARIABLE, "the variable", preferenceOfText(text)) : "";
}

function request(): Pick<BackendInfo, "requested" | "source"> {
  const { backend } = settings.configured;
  if (backend !== undefined) return { requested: backend, source: "configure" };
  const variable = (settings.variable ??= variableOfEnvironment());
  return variable === "" ? { requested: "auto", source: "default" } : { requested: variable, source: VARIABLE };
}

function open(op: string, wanted: BackendName | readonly BackendName[], device: number): Backend {
  if (typeof wanted !== "string") return openFirst(op, wanted, device);
  return probe(wanted, device).backend ?? openFirst(op, [wanted], device);
}

// The rule of "auto", but for small calls.
const HOST_BACKENDS = ["cpu", "wasm", "js"] as const;

function autoBackend(): BackendName {
  return HOST_BACKENDS.find((name) => probe(name, 0).backend)!;
}

const openJs = (): Backend => probe("js", 0).backend!;

/** What runs calls that are not small: native code, or what takes its place. */
function openLarge(): Backend {
  const { backend: cpu, status } = probe("cpu", 0);
  return cpu ?? warning(probe("wasm", 0).backend ?? openJs(), status.reason!);
}

const autoDispatch = (): Backend => (settings.automatic ??= bySize(openJs, openLarge));

/** What runs every call of a program whose numbers must not depend on how many it computes at a time: small ones too. */
export function backendOfAllSizes(choice?: BackendPreference): BackendPreference | undefined {
  const wanted = choice ?? request().requested;
  return wanted === "auto" && probe("cpu", 0).backend ? "cpu" : choice;
}

/** The backend of one call; `stream` is what streamOf() said. */
export function selectBackend(op: string, choice?: BackendPreference, stream: Stream | null = null): Backend {
  if (stream) return streamBackend(stream);
  const wanted = choice === undefined ? request().requested : needPreference(op, "backend", choice);
  return wanted === "auto" ? autoDispatch() : open(op, wanted, settings.configured.device ?? 0);
}

/** Those of the wanted ones that have memory of their own. */
function withDevice(wanted: unknown): readonly BackendName[] {
  const names: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted];
  return names.filter((name) => name === "cuda" || name === "emulated");
}

/** The backend with a device that a call names, else the configured one where it has a device, else cuda. */
export function deviceBackend(op: string, backend: unknown, device: unknown): Backend {
  const names = withDevice(backend ?? request().requested);
  if (backend !== undefined && names.length === 0)
    throw optionError(op, "backend", backend, '"cuda" or "emulated", which have memory of their own');
  const number =
    device === undefined
      ? (settings.configured.device ?? 0)
      : needNumber(op, "device", device, { min: 0, max: 1023, integer: true });
  return open(op, names.length === 0 ? "cuda" : names, number);
}

/** Every backend with why or why not, what is selected, and the rule that selects. Opens what was not open yet. */
export function backendInfo(): BackendInfo {
  const device = settings.configured.device ?? 0;
  const asked = request();
  const names = asked.requested === "auto" ? [autoBackend()] : [asked.requested].flat();
  const backends = BACKEND_NAMES.map((name) => probe(name, device).status);
  const threads = threadsInUse();
  return {
    ...asked,
    selected: names.find((name) => probe(name, device).backend),
    threads,
    rule: RULE,
    backends,
  };
}
