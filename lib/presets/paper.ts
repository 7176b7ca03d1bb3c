// Formulas as the papers print them, where code differs. Nothing about group advantages differs.
import type { Preset } from "./preset";

export const paper = {} as const satisfies Preset;
