// Generated from native/include/surprisal by scripts/contracts.mjs: `npm run contracts` renews it.
import type { BackendOps } from "../contract/ops";
import { correctionOps } from "./correction";
import { delimOps } from "./delim";
import { divergenceOps } from "./divergence";
import { groupOps } from "./group";
import { linearOps } from "./linear";
import { logprobOps } from "./logprob";
import { lossOps } from "./loss";
import { modulateOps } from "./modulate";
import { ratioOps } from "./ratio";
import { reduceOps } from "./reduce";
import { scanOps } from "./scan";
import { selectOps } from "./select";

export const jsOps: BackendOps = {
  ...correctionOps,
  ...delimOps,
  ...divergenceOps,
  ...groupOps,
  ...linearOps,
  ...logprobOps,
  ...lossOps,
  ...modulateOps,
  ...ratioOps,
  ...reduceOps,
  ...scanOps,
  ...selectOps,
};
