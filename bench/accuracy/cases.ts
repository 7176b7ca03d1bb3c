// All cases, by family. A reduced set has the same ops and kinds of input, with fewer types and shorter rows.
import { correctionCases } from "./cases-correction";
import { delimCases } from "./cases-delim";
import { groupCases } from "./cases-group";
import { linearCases } from "./cases-linear";
import { logprobCases } from "./cases-logprob";
import { lossCases } from "./cases-loss";
import { modulateCases } from "./cases-modulate";
import { ratioCases } from "./cases-ratio";
import { reduceCases } from "./cases-reduce";
import { scanCases } from "./cases-scan";
import { selectCases } from "./cases-select";
import { divergenceCases } from "./cases-divergence";
import { lossLogitsCases } from "./cases-loss-logits";
import type { Case } from "./measure";

export const FAMILIES: Readonly<Record<string, (reduced: boolean) => Case[]>> = {
  logprob: logprobCases,
  delim: delimCases,
  group: groupCases,
  reduce: reduceCases,
  scan: scanCases,
  ratio: ratioCases,
  modulate: modulateCases,
  select: selectCases,
  linear: linearCases,
  correction: correctionCases,
  divergence: divergenceCases,
  loss: (reduced) => [...lossCases(), ...lossLogitsCases(reduced)],
};
