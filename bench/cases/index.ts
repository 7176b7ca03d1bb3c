// Every case, in the order of the page; the quick ones are marked in their files.
import type { Case } from "../harness/case";
import { arenaCases } from "./arena";
import { delimCases } from "./delim";
import { divergenceCases } from "./divergence";
import { empgCase } from "./empg";
import { fusedLossCases } from "./fused-loss";
import { groupCases, groupOverheadCase } from "./group";
import { columnCases } from "./group-columns";
import { linearCases } from "./linear";
import { backwardCases } from "./logprob-backward";
import { forwardCases } from "./logprob-forward";
import { modulateCases } from "./modulate";
import { ratioCases, ratioOverheadCase } from "./ratio";
import { reduceCases } from "./reduce";
import { scanCases } from "./scan";
import { selectCases } from "./select";
import { smallCallCases } from "./small-calls";
import { startCases } from "./start";
import { tailCases } from "./tail-sums";
import { tokenLossFormCases } from "./token-loss-forms";
import { tokenLossCases } from "./token-losses";

export function allCases(): Case[] {
  return [
    ...forwardCases(),
    ...backwardCases(),
    ...arenaCases(),
    ...fusedLossCases(),
    ...scanCases(),
    ...tailCases(),
    ...delimCases(),
    ...groupCases(),
    ...columnCases(),
    ...ratioCases(),
    groupOverheadCase(),
    ratioOverheadCase("token"),
    ratioOverheadCase("sequence"),
    ...smallCallCases(),
    ...startCases(),
    ...reduceCases(),
    ...selectCases(),
    ...modulateCases(),
    empgCase(),
    ...linearCases(),
    ...tokenLossCases(),
    ...tokenLossFormCases(),
    ...divergenceCases(),
  ];
}
