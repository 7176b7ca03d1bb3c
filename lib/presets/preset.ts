// What a preset is: for each function, the options in which a source differs from the defaults. Data only.
import type { GroupConventions } from "../ops/group";
import type { EdgeGrpoConventions, EgpoConventions, EmpgConventions } from "./entropy-conventions";

/** Options by public function. A function that is absent has no conventions of its own in that source. */
export interface Preset {
  readonly groupAdvantage?: GroupConventions;
  readonly empgAdvantage?: EmpgConventions;
  readonly egpoAdvantage?: EgpoConventions;
  readonly edgeGrpoAdvantage?: EdgeGrpoConventions;
}

/** A function that presets know. */
export type PresetFunction = keyof Preset;
