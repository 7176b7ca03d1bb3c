// Every case, in the order of the page; the quick ones are marked in their files.
import type { Case } from "../harness/case";
import { delimCases } from "./delim";
import { divergenceCases } from "./divergence";
import { fusedLossCases } from "./fused-loss";
import { groupCases, groupOverheadCase } from "./group";
import { linearCases } from "./linear";
import { backwardCases } from "./logprob-backward";
import { forwardCases } from "./logprob-forward";
import { modulateCases } from "./modulate";
import { ratioCases, ratioOverheadCase } from "./ratio";
import { reduceCases } from "./reduce";
import { scanCases } from "./scan";
import { selectCases } from "./select";
import { tokenLossCases } from "./token-losses";

export function allCases(): Case[] {
  return [
    ...forwardCases(),
    ...backwardCases(),
    ...fusedLossCases(),
    ...scanCases(),
    ...delimCases(),
    ...groupCases(),
    ...ratioCases(),
    groupOverheadCase(),
    ratioOverheadCase("token"),
    ratioOverheadCase("sequence"),
    ...reduceCases(),
    ...selectCases(),
    ...modulateCases(),
    ...linearCases(),
    ...tokenLossCases(),
    ...divergenceCases(),
  ];
}
