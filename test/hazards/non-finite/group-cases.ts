// Cases of the ops on items in groups.
import * as s from "../../../lib";
import { type Case, caseOf, groups, items } from "./cases";

export const GROUP_CASES: readonly Case[] = [
  ...(
    [
      { nan: "propagate" },
      { nan: "abstain" },
      { center: "leaveOneOut", scale: "none" },
      { center: "runnerUp", scale: "none" },
      { center: "none", scale: "none" },
    ] as const
  ).map((conventions) =>
    caseOf(
      `groupNormalize, ${Object.entries(conventions)
        .map((entry) => entry.join(" "))
        .join(", ")}`,
      { values: items() },
      ({ values }, backend) => s.groupNormalize(values, { groups, ...conventions, backend }),
    ),
  ),
  caseOf("groupNormalize, weights", { values: items(), weights: items(0.5, 1.5) }, ({ values, weights }, backend) =>
    s.groupNormalize(values, { groups, weights, backend }),
  ),
  caseOf("groupSoftmax", { values: items() }, ({ values }, backend) =>
    s.groupSoftmax(values, { groups, temperature: 0.5, backend }),
  ),
  caseOf("groupSoftmax, floor", { values: items() }, ({ values }, backend) =>
    s.groupSoftmax(values, { groups, floor: 0.1, backend }),
  ),
  caseOf("groupSoftmax, temperature 0", { values: items() }, ({ values }, backend) =>
    s.groupSoftmax(values, { groups, temperature: 0, backend }),
  ),
  caseOf("groupLogSumExp", { values: items() }, ({ values }, backend) => s.groupLogSumExp(values, { groups, backend })),
  caseOf(
    "groupTilt",
    { values: items(0.5, 1.5), logFactors: items(), counts: items(1, 3) },
    ({ values, logFactors, counts }, backend) => s.groupTilt(values, { groups, logFactors, counts, backend }),
  ),
  caseOf("groupEntropy", { values: items(0.1, 0.9) }, ({ values }, backend) =>
    s.groupEntropy(values, { groups, normalize: true, backend }),
  ),
  caseOf("groupTop2", { values: items() }, ({ values }, backend) => s.groupTop2(values, { groups, backend })),
  caseOf("groupWeigh, power", { values: items() }, ({ values }, backend) =>
    s.groupWeigh(values, { form: "power", power: 2 }, { groups, backend }),
  ),
  caseOf("groupWeigh, extremes", { values: items() }, ({ values }, backend) =>
    s.groupWeigh(values, { form: "extremes", atMax: 3, atMin: 2, between: 1 }, { groups, backend }),
  ),
];
