// Which backend runs a call: the call's own choice, else configure(), else SURPRISAL_BACKEND, else the rule of `auto`.
import { needNumber } from "../core/option-checks";
import { argumentError, SurprisalError } from "../core/errors";
import { type Backend, BACKEND_NAMES, type BackendChoice, type BackendName } from "./backend";
import { type BackendStatus, probe } from "./probe";
import { processState } from "./process-state";
import type { Stream } from "../core/stream";
import { bySize, SMALL_CALLS } from "./small-calls";
import { streamBackend } from "./streams";
import { configureThreads, needThreads, threadsInUse } from "./threads";

/** Option of every op. */
export interface BackendOption {
  /**
   * Where this call runs. A name is obeyed or refused with ERR_SURPRISAL_BACKEND_UNAVAILABLE, never replaced.
   * Default: what configure() or SURPRISAL_BACKEND name, else "auto".
   */
  readonly backend?: BackendChoice;
}

export interface Configuration {
  /** Backend of calls that name none. Default "auto". */
  readonly backend?: BackendChoice | undefined;
  /** Number of the CUDA device. Default 0. */
  readonly device?: number | undefined;
  /**
   * Threads that a call on cpu may use, its own included: 1 to 1024. Results do not depend on it. Default: SURPRISAL_THREADS,
   * else the CPUs that this process may use.
   */
  readonly threads?: number | undefined;
}

/** What `backendInfo()` returns. */
export interface BackendInfo {
  /** The backend of calls that name none, and where that setting comes from. */
  readonly requested: BackendChoice;
  readonly source: "default" | "SURPRISAL_BACKEND" | "configure";
  /** The backend that such a call on host arrays gets, unless it is small; absent when the requested one cannot run. */
  readonly selected?: BackendName;
  /** Threads that a call on cpu may use; absent where the cpu backend cannot run. */
  readonly threads?: number;
  /** The rule of "auto", in words. */
  readonly rule: string;
  readonly backends: readonly BackendStatus[];
}

const CHOICES: readonly BackendChoice[] = ["auto", ...BACKEND_NAMES];

const SMALL = Object.entries(SMALL_CALLS).map(([op, bytes]) => `${op} up to ${bytes} bytes`);

const RULE =
  "DeviceArrays run where they lie. auto: host arrays run on cpu, or on js where the native addon cannot load; cuda and emulated run only when asked for by name; " +
  `small calls stay in js: ${SMALL.join(", ")}`;

function needChoice(op: string, name: string, value: unknown): BackendChoice {
  if (!CHOICES.includes(value as BackendChoice))
    throw argumentError("ERR_SURPRISAL_OPTION", op, name, value, `one of ${CHOICES.map((c) => `"${c}"`).join(", ")}`);
  return value as BackendChoice;
}

interface Settings {
  configured: Configuration;
  /** SURPRISAL_BACKEND, read once: a look into the environment costs more than a small call. */
  variable?: string;
  /** What runs calls of "auto": made once, since the answer of a probe does not change. */
  automatic?: Backend;
}

const settings = processState<Settings>("settings", { configured: {} });

/**
 * Sets defaults for this process (each worker thread has its own). Given fields replace earlier ones; `undefined` takes
 * one back.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for an unknown field or value; ERR_SURPRISAL_BACKEND_UNAVAILABLE when the
 * backend cannot run here. The configuration is then unchanged.
 */
export function configure(options: Configuration): void {
  for (const name of Object.keys(options))
    if (name !== "backend" && name !== "device" && name !== "threads")
      throw argumentError("ERR_SURPRISAL_OPTION", "configure", "option", name, `"backend", "device" or "threads"`);
  const next = { ...settings.configured, ...options };
  if (next.device !== undefined) needNumber("configure", "device", next.device, { min: 0, max: 1023, integer: true });
  if (next.threads !== undefined) needThreads("configure", next.threads);
  if (next.backend !== undefined && needChoice("configure", "backend", next.backend) !== "auto")
    open("configure", next.backend as BackendName, next.device ?? 0);
  settings.configured = next;
  configureThreads(next.threads);
}

function request(): Pick<BackendInfo, "requested" | "source"> {
  const { backend } = settings.configured;
  if (backend !== undefined) return { requested: backend, source: "configure" };
  const variable = (settings.variable ??= process.env["SURPRISAL_BACKEND"] ?? "");
  if (variable)
    return { requested: needChoice("SURPRISAL_BACKEND", "the variable", variable), source: "SURPRISAL_BACKEND" };
  return { requested: "auto", source: "default" };
}

function open(op: string, name: BackendName, device: number): Backend {
  const { status, backend } = probe(name, device);
  if (backend) return backend;
  const versions = [status.driver && `driver ${status.driver}`, status.runtime && `runtime ${status.runtime}`].filter(
    Boolean,
  );
  const reason = `${status.reason}${versions.length > 0 ? ` [${versions.join(", ")}]` : ""}`;
  throw new SurprisalError(
    "ERR_SURPRISAL_BACKEND_UNAVAILABLE",
    `${op}: backend "${name}" cannot run here: ${reason}; \`surprisal doctor\` lists every backend`,
    { op, name: "backend", got: name, want: "a backend that can run here", reason },
  );
}

// The rule of "auto", but for small calls.
function autoBackend(): BackendName {
  return probe("cpu", 0).backend ? "cpu" : "js";
}

function autoDispatch(op: string): Backend {
  if (settings.automatic) return settings.automatic;
  const js = open(op, "js", 0);
  return (settings.automatic = autoBackend() === "js" ? js : bySize(js, open(op, "cpu", 0)));
}

/** The backend of one call; `stream` is what streamOf() said. */
export function selectBackend(op: string, choice?: BackendChoice, stream: Stream | null = null): Backend {
  if (stream) return streamBackend(stream);
  const wanted = choice === undefined ? request().requested : needChoice(op, "backend", choice);
  return wanted === "auto" ? autoDispatch(op) : open(op, wanted, settings.configured.device ?? 0);
}

/** The backend with a device that a call names, else the configured one where it has a device, else cuda. */
export function deviceBackend(op: string, backend: unknown, device: unknown): Backend {
  const asked = backend ?? request().requested;
  const name = backend === undefined && asked !== "emulated" ? "cuda" : needWordOf(op, backend ?? asked);
  const number =
    device === undefined
      ? (settings.configured.device ?? 0)
      : needNumber(op, "device", device, { min: 0, max: 1023, integer: true });
  return open(op, name, number);
}

function needWordOf(op: string, name: unknown): "cuda" | "emulated" {
  if (name === "cuda" || name === "emulated") return name;
  throw argumentError(
    "ERR_SURPRISAL_OPTION",
    op,
    "backend",
    name,
    '"cuda" or "emulated", which have memory of their own',
  );
}

/** Every backend with why or why not, what is selected, and the rule that selects. Opens what was not open yet. */
export function backendInfo(): BackendInfo {
  const device = settings.configured.device ?? 0;
  const asked = request();
  const selected = asked.requested === "auto" ? autoBackend() : asked.requested;
  const backends = BACKEND_NAMES.map((name) => probe(name, device).status);
  const threads = threadsInUse();
  return {
    ...asked,
    selected: probe(selected, device).backend && selected,
    threads,
    rule: RULE,
    backends,
  };
}
