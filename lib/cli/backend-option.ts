// --backend of the commands that compute.
import { BACKEND_NAMES, type BackendChoice } from "../backend/backend";
import { oneWord } from "./shell/arguments";
import type { Arguments, OptionSpecs } from "./shell/command";

const CHOICES: readonly BackendChoice[] = ["auto", ...BACKEND_NAMES];

export const BACKEND_OPTION: OptionSpecs = {
  backend: { value: "NAME", text: `${CHOICES.join(", ")}: obeyed or refused. Default: SURPRISAL_BACKEND, else auto` },
};

export function backendOf(args: Arguments): BackendChoice | undefined {
  return oneWord(args, "backend", CHOICES);
}
