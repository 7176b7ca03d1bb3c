// MaxEnt-GRPO: group advantages of ragged groups.
import { groupAdvantage } from "../../../lib";
import type { GoldenCase } from "../golden";
import type { Mapping } from "../mapping";
import { offsetsOfSizes } from "./arrange";

const replacements: Readonly<Record<string, string>> = {
  "quirk/too few utilities still divide by the group size": "groups that do not cover the rewards are refused",
  "quirk/surplus utilities are ignored": "groups that do not cover the rewards are refused",
  "quirk/huge finite spread overflows": "a spread whose square overflows float64 gives 0, not a failure",
};

export const maxent: readonly Mapping[] = [
  {
    family: "maxent",
    function: "group_advantages",
    ours: "groupAdvantage",
    options: 'preset "maxent", groupOffsets',
    replacedBy: ({ name }: GoldenCase) => replacements[name],
    run: (inputs, { backend }) => {
      const { advantages, counts } = groupAdvantage(inputs.floats("total_utils"), {
        preset: "maxent",
        groupOffsets: offsetsOfSizes(inputs.int32("group_sizes")),
        scale: inputs.boolean("scale_rewards") ? "std" : "none",
        backend,
      });
      return { advantages, group_sizes: counts };
    },
  },
];
