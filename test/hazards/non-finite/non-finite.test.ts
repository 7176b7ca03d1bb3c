// NaN, +∞ and −∞ in every array of numbers of every op, at a position that counts and at one under the mask. No answer is plain
// numbers without a word: the number is refused by name, or shows in the result, or means something that the docs say. What the
// answer is stands in answers.txt, and every backend gives it.
//
// A new case: run with SURPRISAL_WRITE_ANSWERS=1, and read what was written.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { inspect } from "node:util";

import { type BackendName, backendInfo, toDevice } from "../../../lib";
import { deviceRefusal } from "../../../lib/core/device-ops";
import * as correction from "../../../lib/ops/correction";
import * as delim from "../../../lib/ops/delim";
import * as divergence from "../../../lib/ops/divergence";
import * as group from "../../../lib/ops/group";
import * as linear from "../../../lib/ops/linear";
import * as logprob from "../../../lib/ops/logprob";
import * as loss from "../../../lib/ops/loss";
import * as modulate from "../../../lib/ops/modulate";
import * as ratio from "../../../lib/ops/ratio";
import * as reduce from "../../../lib/ops/reduce";
import * as scan from "../../../lib/ops/scan";
import * as select from "../../../lib/ops/select";
import { difference } from "../../fuzz/agree";
import { eachDeviceBackend } from "../../support/each-device";
import { toHost } from "../../support/to-host";
import type { Case, Given } from "./cases";
import { GROUP_CASES } from "./group-cases";
import { LOGIT_CASES } from "./logit-cases";
import { LOSS_CASES } from "./loss-cases";
import { MEANINGS } from "./meanings";
import { changeOf, type Outcome, outcomeOf, type Poison, shows } from "./outcome";
import { TOKEN_CASES } from "./token-cases";

const CASES = [...TOKEN_CASES, ...GROUP_CASES, ...LOGIT_CASES, ...LOSS_CASES];
const OPS: Readonly<Record<string, unknown>> = {
  ...correction,
  ...delim,
  ...divergence,
  ...group,
  ...linear,
  ...logprob,
  ...loss,
  ...modulate,
  ...ratio,
  ...reduce,
  ...scan,
  ...select,
};
/** They take ids and flags, or are another one's calls on several workers. */
const NO_NUMBERS = [
  "countKept",
  "countNgrams",
  "delimiterVariants",
  "findSpans",
  "segments",
  "spanMask",
  "logprobTogether",
  "linearLogprobTogether",
  "linearLogprobBackwardTogether",
];
/** The functions that a case is about. */
const opsOf = ({ title }: Case): string[] => title.split(/\W/).filter((word) => word in OPS);
const VALUES = [NaN, Infinity, -Infinity];
const ANSWERS = path.join(__dirname, "answers.txt");
const TOLERANCE = 2e-6;

const named = CASES.map((one) => [one.title, one] as const);
const word = (value: number): string => String(value).replace("-Infinity", "−∞").replace("Infinity", "∞");
const keyOf = ({ title }: Case, { input, value }: Poison): string => `${title}: ${input} ${word(value)}`;
const at = ({ inputs }: Case, place: "kept" | "masked"): Poison[] =>
  Object.entries(inputs).flatMap(([input, own]) => {
    const position = own[place];
    return position === undefined ? [] : VALUES.map((value) => ({ input, at: position, value }));
  });

/** By case, input and value. */
const answered = new Map(
  CASES.flatMap((one) => {
    const plain = outcomeOf(one, "js");
    return at(one, "kept").map(
      (poison) => [keyOf(one, poison), changeOf(plain, outcomeOf(one, "js", poison))] as const,
    );
  }),
);
const written = [...answered].map(([key, change]) => `${key} → ${change}\n`).join("");
if (process.env["SURPRISAL_WRITE_ANSWERS"]) writeFileSync(ANSWERS, written);

test("the answers are those that are written down", () => {
  expect(written).toBe(readFileSync(ANSWERS, "utf8"));
});

describe("an answer of plain numbers alone has a meaning", () => {
  const silent = [...answered].flatMap(([key, change]) => (shows(change) ? [] : [key]));

  test("which is named for each, and for no other", () => {
    const patterns = MEANINGS.flatMap(({ of }) => of);
    expect(silent.filter((key) => !patterns.some((one) => one.test(key)))).toEqual([]);
    expect(patterns.filter((one) => !silent.some((key) => one.test(key)))).toEqual([]);
  });

  const page = readFileSync(path.join(__dirname, "../../../docs/non-finite.md"), "utf8");
  test.each(MEANINGS.map(({ says }) => says))("docs/non-finite.md says: %s", (says) => {
    expect(page).toContain(says);
  });
});

test("every op that reads numbers has a case", () => {
  const cases = CASES.flatMap(opsOf);
  const ops = Object.keys(OPS).filter((name) => typeof OPS[name] === "function" && /^[a-z]/.test(name));
  const left = ops.filter((name) => !name.endsWith("Async") && !NO_NUMBERS.includes(name));
  expect(left.filter((name) => !cases.includes(name))).toEqual([]);
});

test("a NaN is never silent, unless it abstains or the docs say what it is", () => {
  const silent = [...answered].flatMap(([key, change]) => (key.endsWith("NaN") && !shows(change) ? [key] : []));
  expect(silent.filter((key) => !/nan "?abstain/.test(key))).toEqual([]);
});

const agreed = (wanted: Outcome, got: Outcome): string | undefined => {
  const [a, b] = [wanted, got].map((one) => ("refused" in one ? { error: one.refused.code } : one));
  return difference(a!, b!, TOLERANCE, 1);
};

for (const { name, available, reason } of backendInfo().backends) {
  if (!available) {
    test.skip(`not compared: ${name} is not available: ${reason}`, () => undefined);
    continue;
  }
  const backend: BackendName = name;
  describe(`backend ${backend}`, () => {
    test.each(named)("%s", (_, one) => {
      for (const poison of at(one, "kept")) {
        const got = outcomeOf(one, backend, poison);
        const differs = agreed(outcomeOf(one, "js", poison), got);
        expect({ call: keyOf(one, poison), differs }).toEqual({ call: keyOf(one, poison), differs: undefined });
        if ("refused" in got) expect(got.refused.message).toContain(`${poison.input}[${poison.at}] is ${poison.value}`);
      }
    });

    test.each(named)("%s: under the mask nothing is read", (_, one) => {
      const plain = outcomeOf(one, backend);
      for (const poison of at(one, "masked"))
        expect([keyOf(one, poison), changeOf(plain, outcomeOf(one, backend, poison))]).toEqual([
          keyOf(one, poison),
          "unchanged",
        ]);
    });
  });
}

eachDeviceBackend((backend) => {
  const send = (array: Given): Given => toDevice(array, { backend }) as unknown as Given;
  /** The result, read, which is where a flag of the device becomes an error. */
  const read = (outcome: Outcome): unknown => {
    if ("refused" in outcome) return outcome.refused.code;
    const run = (): object => [toHost(outcome.result)];
    const host = outcomeOf({ title: "", inputs: {}, run }, backend);
    return "refused" in host ? host.refused.code : host.result;
  };

  test.each(named.filter(([, one]) => opsOf(one).every((op) => !deviceRefusal(op).refused)))(
    "%s, in device memory",
    (_, one) => {
      for (const poison of at(one, "kept")) {
        const wanted = read(outcomeOf(one, backend, poison));
        const got = read(outcomeOf(one, backend, poison, send));
        // What a function looks for on the host, before its backend, shows on a device.
        const shown = typeof wanted === "string" && inspect(got, { depth: 5 }).includes("NaN");
        if (!shown) expect([keyOf(one, poison), got]).toEqual([keyOf(one, poison), wanted]);
      }
    },
  );
});
