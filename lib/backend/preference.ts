// Reading what somebody asks for: a backend by name, "auto", or several names in order of preference.
import { optionError, SurprisalError } from "../core/errors";
import { type Backend, BACKEND_NAMES, type BackendChoice, type BackendName, type BackendPreference } from "./backend";
import { type BackendStatus, probe } from "./probe";

const CHOICES: readonly BackendChoice[] = ["auto", ...BACKEND_NAMES];
const WANT = `${CHOICES.map((choice) => `"${choice}"`).join(", ")}, or a list of names in order of preference`;

function isName(value: unknown): value is BackendName {
  return BACKEND_NAMES.includes(value as BackendName);
}

/** The checked preference, in the name of the public function `op` and its argument `name`. */
export function needPreference(op: string, name: string, value: unknown): BackendPreference {
  if (Array.isArray(value) && value.length > 0 && value.every(isName)) return value;
  if (CHOICES.includes(value as BackendChoice)) return value as BackendChoice;
  throw optionError(op, name, value, WANT);
}

/** One name, or several between commas, as an environment variable has them. */
export function preferenceOfText(text: string): string | readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  return names.length > 1 ? names : names[0]!;
}

function whyNot({ name, reason, driver, runtime }: BackendStatus): string {
  const versions = [driver && `driver ${driver}`, runtime && `runtime ${runtime}`].filter(Boolean);
  return `backend "${name}" cannot run here: ${reason}${versions.length > 0 ? ` [${versions.join(", ")}]` : ""}`;
}

/** Opens the first of the names that can run here, or throws with the reason of each. */
export function openFirst(op: string, names: readonly BackendName[], device: number): Backend {
  const refused: BackendStatus[] = [];
  for (const name of names) {
    const { backend, status } = probe(name, device);
    if (backend) return backend;
    refused.push(status);
  }
  throw new SurprisalError(
    "ERR_SURPRISAL_BACKEND_UNAVAILABLE",
    `${op}: ${refused.map(whyNot).join("; ")}; \`surprisal doctor\` lists every backend`,
    {
      op,
      name: "backend",
      got: names.length === 1 ? names[0] : names,
      want: "a backend that can run here",
      reason: refused.map(({ reason }) => reason).join("; "),
    },
  );
}
