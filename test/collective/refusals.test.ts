// What functions cannot do together is refused by name, on one worker as on several.
import {
  clippedObjective,
  semanticEntropyScales,
  weightLoggingView,
  type WeightStatistics,
  weightStatistics,
} from "../../lib";
import { openCollective } from "../../lib/collective";

const collective = openCollective("single");
const two = Float64Array.of(0.5, 0.5);

function statistics(): WeightStatistics {
  return weightStatistics(two, { groups: "all", collective })!;
}

test.each<[string, () => unknown, string, string]>([
  [
    "group ratios over workers",
    () =>
      clippedObjective(two, two, two, {
        level: "group",
        groups: "all",
        clipLow: 0.2,
        clipHigh: 0.2,
        offsets: Int32Array.of(0, 1, 2),
        collective,
      }),
    "ERR_SURPRISAL_OPTION",
    "collective",
  ],
  [
    "clusters named by strings",
    () =>
      semanticEntropyScales(
        { logProbSums: two, clusters: [1, "a"] },
        { groups: "all", lengthNormalize: false, collective },
      ),
    "ERR_SURPRISAL_VALUE",
    "clusters[1]",
  ],
  [
    "a log of several workers and their collective",
    () => weightLoggingView([statistics(), statistics()], { collective }),
    "ERR_SURPRISAL_OPTION",
    "statistics.length",
  ],
])("%s", (_, call, code, name) => {
  expect(call).toThrow(
    expect.objectContaining({ code, details: expect.objectContaining({ name }) as unknown }) as Error,
  );
});
