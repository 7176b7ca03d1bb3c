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

/** Each by a call: a family may lie in a file that is loaded then. */
export const jsOps: BackendOps = {
  correctionMeasure: (args) => correctionOps.correctionMeasure(args),
  correctionBound: (args) => correctionOps.correctionBound(args),
  delimSpans: (args) => delimOps.delimSpans(args),
  delimMeans: (args) => delimOps.delimMeans(args),
  delimMask: (args) => delimOps.delimMask(args),
  delimNgrams: (args) => delimOps.delimNgrams(args),
  divergenceRows: (args) => divergenceOps.divergenceRows(args),
  divergenceTop: (args) => divergenceOps.divergenceTop(args),
  groupNormalize: (args) => groupOps.groupNormalize(args),
  groupSoftmax: (args) => groupOps.groupSoftmax(args),
  groupTilt: (args) => groupOps.groupTilt(args),
  groupEntropy: (args) => groupOps.groupEntropy(args),
  groupTop2: (args) => groupOps.groupTop2(args),
  groupColumns: (args) => groupOps.groupColumns(args),
  groupWeigh: (args) => groupOps.groupWeigh(args),
  groupBroadcast: (args) => groupOps.groupBroadcast(args),
  groupPlace: (args) => groupOps.groupPlace(args),
  linearForward: (args) => linearOps.linearForward(args),
  linearBackward: (args) => linearOps.linearBackward(args),
  logprobForward: (args) => logprobOps.logprobForward(args),
  logprobBackward: (args) => logprobOps.logprobBackward(args),
  logprobPartial: (args) => logprobOps.logprobPartial(args),
  logprobMerge: (args) => logprobOps.logprobMerge(args),
  logprobKeptForward: (args) => logprobOps.logprobKeptForward(args),
  logprobKeptBackward: (args) => logprobOps.logprobKeptBackward(args),
  lossToken: (args) => lossOps.lossToken(args),
  lossRow: (args) => lossOps.lossRow(args),
  lossLogits: (args) => lossOps.lossLogits(args),
  modulateSteps: (args) => modulateOps.modulateSteps(args),
  modulateSpans: (args) => modulateOps.modulateSpans(args),
  modulateRows: (args) => modulateOps.modulateRows(args),
  ratioLog: (args) => ratioOps.ratioLog(args),
  reduceMoments: (args) => reduceOps.reduceMoments(args),
  reduceMerge: (args) => reduceOps.reduceMerge(args),
  reduceWhiten: (args) => reduceOps.reduceWhiten(args),
  reduceAffine: (args) => reduceOps.reduceAffine(args),
  reduceClamp: (args) => reduceOps.reduceClamp(args),
  reduceGamma: (args) => reduceOps.reduceGamma(args),
  reduceCounts: (args) => reduceOps.reduceCounts(args),
  scanGae: (args) => scanOps.scanGae(args),
  scanReturns: (args) => scanOps.scanReturns(args),
  scanVtrace: (args) => scanOps.scanVtrace(args),
  scanTail: (args) => scanOps.scanTail(args),
  scanPrefix: (args) => scanOps.scanPrefix(args),
  scanShares: (args) => scanOps.scanShares(args),
  selectQuantile: (args) => selectOps.selectQuantile(args),
  selectTop: (args) => selectOps.selectTop(args),
  selectCovariance: (args) => selectOps.selectCovariance(args),
};
