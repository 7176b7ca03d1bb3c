// "auto" decides by op and bytes alone; a backend that is named is never replaced.
import type { Backend, BackendOps, OpArgs } from "../../lib/backend/backend";
import { jsBackend } from "../../lib/backend/js";
import { bySize, SMALL_CALLS } from "../../lib/backend/small-calls";
import { backendInfo } from "../../lib";

function recording(name: "js" | "cpu", seen: string[]): Backend {
  const note = () => void seen.push(name);
  const ops = Object.fromEntries(Object.keys(jsBackend.ops).map((op) => [op, note])) as unknown as BackendOps;
  const runAsync = (): Promise<void> => {
    note();
    return Promise.resolve();
  };
  return { name, stops: false, ops, runAsync };
}

const seen: string[] = [];
const auto = bySize(
  () => recording("js", seen),
  () => recording("cpu", seen),
);

/** What makes a loss one that js is the faster backend for. */
const SUMS_ALONE = { figures: null, oldLogProbs: new Float32Array(1) };

afterEach(() => {
  seen.length = 0;
});

test.each([
  ["groupNormalize", "values"],
  ["scanGae", "rewards"],
  ["ratioLog", "logProbs"],
  ["lossToken", "logProbs"],
  ["lossRow", "logProbs"],
] as const)("%s: up to its bytes on js, above on cpu", (op, array) => {
  const run = (bytes: number) =>
    (auto.ops[op] as (args: object) => void)({ ...SUMS_ALONE, [array]: new Float32Array(bytes / 4) });
  run(SMALL_CALLS[op]);
  run(SMALL_CALLS[op] + 4);
  expect(seen).toEqual(["js", "cpu"]);
});

test.each(["lossToken", "lossRow"] as const)("%s with a KL term or all figures runs on cpu at every size", (op) => {
  const logProbs = new Float32Array(1);
  for (const more of [{ referenceLogProbs: logProbs }, { figures: new Float64Array(19), figureCount: 19 }])
    (auto.ops[op] as (args: object) => void)({ ...SUMS_ALONE, logProbs, ...more });
  expect(seen).toEqual(["cpu", "cpu"]);
});

test("other ops, and calls off the event loop, run on cpu at every size", async () => {
  auto.ops.groupSoftmax({} as OpArgs<"groupSoftmax">);
  await auto.runAsync("groupNormalize", {} as OpArgs<"groupNormalize">);
  expect(seen).toEqual(["cpu", "cpu"]);
});

test("the rule names every op with its bytes", () => {
  for (const [op, bytes] of Object.entries(SMALL_CALLS))
    expect(backendInfo().rule).toContain(`${op} up to ${bytes} bytes`);
});
