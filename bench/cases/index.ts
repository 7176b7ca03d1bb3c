// Every case, in the order of the page; the quick ones are marked in their files.
import type { Case } from "../harness/case";
import { delimCases } from "./delim";
import { fusedLossCases } from "./fused-loss";
import { groupCases, groupOverheadCase } from "./group";
import { backwardCases } from "./logprob-backward";
import { forwardCases } from "./logprob-forward";
import { ratioCases, ratioOverheadCase } from "./ratio";
import { scanCases } from "./scan";

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
    ratioOverheadCase(),
  ];
}
