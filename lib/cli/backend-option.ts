// --backend of the commands that compute.
import { BACKEND_NAMES, type BackendChoice, type BackendPreference } from "../backend/backend";
import { preferenceOfText } from "../backend/preference";
import { backendOfAllSizes } from "../backend/select";
import { needName } from "./shell/arguments";
import type { Arguments, OptionSpecs } from "./shell/command";

const CHOICES: readonly BackendChoice[] = ["auto", ...BACKEND_NAMES];

export const BACKEND_OPTION: OptionSpecs = {
  backend: {
    value: "NAME",
    text: `${CHOICES.join(", ")}: obeyed or refused; of several between commas the first that can run here. Default: SURPRISAL_BACKEND, else auto`,
  },
};

function asked(args: Arguments): BackendPreference | undefined {
  const text = args.text("backend");
  if (text === undefined) return undefined;
  const wanted = preferenceOfText(text);
  if (typeof wanted === "string") return needName("--backend", wanted, CHOICES);
  return wanted.map((name) => needName("--backend", name, BACKEND_NAMES));
}

/** The same for batches of all sizes: a rollout's numbers do not depend on how its batch was cut. */
export const backendOf = (args: Arguments): BackendPreference | undefined => backendOfAllSizes(asked(args));
