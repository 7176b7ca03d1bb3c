// What the cases time, on shapes that take no time: it is right, the check would see if it were not, and so it is for whoever
// does the same work.
import * as lib from "../../lib";
import { arenaSubject } from "../../bench/cases/arena";
import { spansSubject } from "../../bench/cases/delim";
import { empgSubject } from "../../bench/cases/empg";
import { fusedLossSubject } from "../../bench/cases/fused-loss";
import { groupSubject } from "../../bench/cases/group";
import { backwardSubject } from "../../bench/cases/logprob-backward";
import { forwardSubject } from "../../bench/cases/logprob-forward";
import { linearGradientSubject, linearSubject } from "../../bench/cases/linear";
import { ROW_KINDS } from "../../bench/cases/logit-rows";
import { sequenceSubject } from "../../bench/cases/ratio";
import { SMALL_CALL_NAMES, smallCallSubject } from "../../bench/cases/small-calls";
import { gaeSubject, returnsSubject } from "../../bench/cases/scan";
import type { Subject, Work } from "../../bench/harness/case";
import type { Errors } from "../../bench/record";
import { isWrong } from "../../bench/harness/check";
import { plainPeer } from "../../bench/peers/plain";

/** Peers get no masked rows: with −∞ most of them compute 0·∞. */
const company = (kind: string) => ({ plain: true, peers: kind !== "masked" });
const dtypes = ["float32", "bfloat16"] as const;

const SUBJECTS: Readonly<Record<string, () => Subject>> = {
  ...Object.fromEntries(
    dtypes.flatMap((dtype) =>
      ROW_KINDS.flatMap((kind) => [
        [`forward, ${dtype}, ${kind}`, () => forwardSubject(37, 500, dtype, kind, company(kind))] as const,
        [
          `backward, ${dtype}, ${kind}`,
          () => backwardSubject(37, 500, dtype, kind, false, dtype === "float32" && kind !== "masked"),
        ] as const,
        [`backward in place, ${dtype}, ${kind}`, () => backwardSubject(37, 500, dtype, kind, true, false)] as const,
      ]),
    ),
  ),
  "loss from logits, float32": () => fusedLossSubject(128, 300, "float32"),
  "loss from logits, bfloat16": () => fusedLossSubject(128, 300, "bfloat16"),
  "gradient from an arena": () => arenaSubject(37, 500, "an arena"),
  "gradient into new arrays": () => arenaSubject(37, 500, "new arrays"),
  EMPG: () => empgSubject(16, 600),
  ...Object.fromEntries(SMALL_CALL_NAMES.map((name) => [`${name}, small call`, () => smallCallSubject(name)])),
  gae: () => gaeSubject(5, 40, 1, 0.95, true),
  "gae, λ = 1": () => gaeSubject(2, 5000, 1, 1, true),
  returns: () => returnsSubject(5, 40),
  "spans, int32": () => spansSubject(2000, "int32", true),
  "spans, int64": () => spansSubject(2000, "int64", true),
  "groups of 8": () => groupSubject(100, 8),
  "ragged groups": () => groupSubject(300, 0),
  "linear head": () => linearSubject(37, 40, 100, "float32"),
  "linear head, bfloat16": () => linearSubject(37, 40, 100, "bfloat16"),
  "linear head, forward and backward": () => linearGradientSubject(48, 40, 100),
  "sequence ratios": () => sequenceSubject(33, 20, false),
  "sequence objective": () => sequenceSubject(33, 20, true),
};

function checkOf(work: Work, run: boolean): Errors {
  work.prepare?.();
  if (run) work.run();
  return work.check();
}

const cpu = lib.backendInfo().backends.find(({ name }) => name === "cpu");
if (!cpu?.available) console.warn(`the bench's cases are not tested: ${cpu?.reason ?? ""}`);
const withCpu = cpu?.available ? describe : describe.skip;

withCpu("cases", () => {
  test.each(Object.keys(SUBJECTS))("%s: right when run, wrong when not", (name) => {
    const subject = SUBJECTS[name]!();
    const works = [subject.ours, ...Object.values(subject.beside ?? {})].flatMap((make) => make(lib) ?? []);
    expect(works.length).toBeGreaterThan(0);
    for (const work of works) {
      const errors = checkOf(work, true);
      expect(Object.keys(errors).length).toBeGreaterThan(0);
      expect({ errors, wrong: isWrong(errors) }).toMatchObject({ wrong: false });
      expect(isWrong(checkOf(work, false))).toBe(true);
    }
  });
});

test.each(Object.keys(SUBJECTS))("%s: plain JavaScript gives the same", async (name) => {
  const { task } = SUBJECTS[name]!();
  const forms = task ? await (await plainPeer()).formsOf(task, 1) : [];
  for (const form of forms) {
    form.run();
    const errors = Object.values(form.check());
    expect(errors.length).toBeGreaterThan(0);
    for (const { maxAbs } of errors) expect(maxAbs).toBeLessThan(1e-5);
  }
});
