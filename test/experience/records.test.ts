// Rows, views and records: whatever goes from one form into another comes back as it was.
import * as fc from "fast-check";
import {
  completionInfo,
  type Experience,
  packRows,
  packSequences,
  padExperience,
  padRows,
  positionIds,
  rolloutsOf,
  type Samples,
  samplesOf,
  samplesOfRollouts,
  segmentIds,
  selectRows,
  splitSequences,
  unpackRows,
  unpadExperience,
  unpadRows,
} from "surprisal/experience";
import { errorCode } from "../support/error-code";

const rowsOf = fc.array(
  fc.array(fc.double(), { maxLength: 5 }).map((row) => Float64Array.from(row)),
  { maxLength: 6 },
);
const LIKE = new Float64Array(0);

test("rows packed and unpacked, padded on either side and unpadded, are the rows", () => {
  fc.assert(
    fc.property(rowsOf, fc.constantFrom("left" as const, "right" as const), fc.nat(3), (rows, side, more) => {
      const { values, offsets } = packRows(rows, LIKE);
      expect(
        unpackRows(
          values,
          rows.map((row) => row.length),
        ),
      ).toEqual(rows);
      const longest = Math.max(0, ...rows.map((row) => row.length));
      const padded = padRows(values, { offsets, side, fill: -1, width: longest + more });
      expect(padded.shape).toEqual([rows.length, longest + more]);
      expect(unpadRows(padded.values, padded)).toEqual({ values, offsets });
      padded.present.forEach((flag, i) => flag === 0 && expect(padded.values[i]).toBe(-1));
      rows.forEach(
        (row, b) =>
          row.length > 0 &&
          expect(padded.present[side === "left" ? (b + 1) * padded.shape[1] - 1 : b * padded.shape[1]]).toBe(1),
      );
    }),
  );
});

test("positions count the earlier tokens of the same segment", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3), { maxLength: 12 }), (segments) => {
      const expected = segments.map((segment, t) =>
        segment === 0 ? 0 : segments.slice(0, t).filter((other) => other === segment).length,
      );
      expect(Array.from(positionIds(segments))).toEqual(expected);
      expect(Array.from(positionIds([...segments, ...segments], { shape: [2, segments.length] }))).toEqual([
        ...expected,
        ...expected,
      ]);
    }),
  );
  expect(Array.from(segmentIds(Int32Array.of(0, 2, 2, 3)))).toEqual([1, 1, 3]);
});

/** Some rows with numbers in every field that a forward pass or a loss reads. */
const experiences = fc
  .array(
    fc.record({
      prompt: fc.array(fc.nat(9), { minLength: 1, maxLength: 4 }),
      response: fc.array(fc.nat(9), { maxLength: 4 }),
      holes: fc.nat(15),
      group: fc.nat(2),
    }),
    { maxLength: 6 },
  )
  .map((rows): Experience => {
    const groups = [0, 1, 2].map((group) => ({
      prompt: { text: `prompt ${group}` },
      completions: rows
        .filter((row) => row.group === group)
        .map(({ prompt, response, holes }) => ({
          promptIds: prompt,
          tokenIds: response,
          mask: response.map((_, t) => (holes >> t) & 1),
          samplerLogProbs: response.map((id) => -id / 3),
          text: response.join(" "),
          finishReason: response.length > 3 ? "length" : "stop",
        })),
    }));
    const samples = samplesOf(groups);
    const token = (scale: number): Float64Array => Float64Array.from(samples.tokenIds, (id, i) => scale * (id + i + 1));
    const row = (scale: number): Float64Array => Float64Array.from(samples.groups, (group, b) => scale * (group + b));
    const numbers = {
      oldLogProbs: token(-0.1),
      oldLogProbSource: "logProbs",
      referenceLogProbs: token(-0.2),
      values: token(0.3),
      advantages: token(0.4),
      returns: Float32Array.from(token(0.5)),
    } as const;
    return {
      ...samples,
      ...numbers,
      scores: row(2),
      rewards: row(3),
      sourceRewards: { a: row(4) },
      sourceReasons: { a: Array.from(row(1), String) },
      keptGroups: Uint8Array.of(1, 1, 1),
    };
  });

test("a padded experience has prompts on the left, responses on the right, and unpads to itself", () => {
  fc.assert(
    fc.property(experiences, (experience) => {
      const padded = padExperience(experience, { padId: 99 });
      const [B, S] = padded.shape;
      const A = padded.responseShape[1];
      for (let b = 0; b < B; ++b) {
        const prompt = Array.from(
          experience.promptIds.subarray(experience.promptOffsets[b], experience.promptOffsets[b + 1]),
        );
        const response = Array.from(experience.tokenIds.subarray(experience.offsets[b], experience.offsets[b + 1]));
        const pads = (count: number): number[] => Array<number>(count).fill(99);
        expect(Array.from(padded.sequences.subarray(b * S, (b + 1) * S))).toEqual([
          ...pads(S - A - prompt.length),
          ...prompt,
          ...response,
          ...pads(A - response.length),
        ]);
        const length = prompt.length + response.length;
        const begin = S - A - prompt.length;
        expect(Array.from(padded.positionIds.subarray(b * S + begin, b * S + begin + length))).toEqual(
          Array.from({ length }, (_, t) => t),
        );
        expect(Array.from(padded.advantages!.subarray(b * A, (b + 1) * A), (x) => x !== 0)).toEqual(
          Array.from({ length: A }, (_, t) => t < response.length),
        );
      }
      expect(unpadExperience(padded)).toEqual(experience);
    }),
  );
});

test("packed sequences say where responses stand, and split into what they were made of", () => {
  fc.assert(
    fc.property(experiences, (experience) => {
      const packed = packSequences(experience);
      expect(Array.from(packed.responsePositions, (at) => packed.sequences[at])).toEqual(
        Array.from(experience.tokenIds),
      );
      const { promptIds, promptOffsets, tokenIds, offsets } = experience;
      expect(splitSequences(packed)).toEqual({ promptIds, promptOffsets, tokenIds, offsets });
      expect(Array.from(packed.positionIds.filter((_, i) => packed.segmentIds[i] === 1))).toEqual(
        Array.from({ length: packed.sequenceOffsets[1] ?? 0 }, (_, t) => t),
      );
    }),
  );
});

test("rows selected twice over come back in order; all rows are the record", () => {
  fc.assert(
    fc.property(experiences, fc.infiniteStream(fc.nat()), (experience, stream) => {
      const order = Array.from(experience.groups.keys());
      expect(selectRows(experience, order)).toEqual(experience);
      const keys = order.map(() => stream.next().value as number);
      const shuffled = order.slice().sort((a, b) => keys[a]! - keys[b]!);
      const back = order.map((b) => shuffled.indexOf(b));
      expect(selectRows(selectRows(experience, shuffled), back)).toEqual(experience);
    }),
  );
});

test("rollouts of an experience hold its rows, and give the samples again", () => {
  fc.assert(
    fc.property(experiences, (experience) => {
      const rollouts = rolloutsOf(experience, { step: 7 });
      expect(rollouts).toHaveLength(experience.groups.length);
      rollouts.forEach((rollout, b) => {
        const range = [experience.offsets[b]!, experience.offsets[b + 1]!] as const;
        expect(rollout).toMatchObject({
          group: experience.groups[b],
          step: 7,
          reward: experience.scores[b],
          rewards: { a: experience.sourceRewards["a"]![b] },
          prompt: `prompt ${experience.groups[b]!}`,
        });
        expect(rollout.oldLogProbs).toEqual(experience.oldLogProbs!.slice(...range));
        expect(rollout.recomputedLogProbs).toEqual(rollout.oldLogProbs);
        expect(rollout.samplerLogProbs).toEqual(experience.samplerLogProbs!.slice(...range));
        expect(rollout.advantages).toEqual(experience.advantages!.slice(...range));
      });
      const { prompts: _, groups, ...again }: Samples = samplesOfRollouts(rollouts);
      expect(experience).toMatchObject(again);
      const first = [...new Set(experience.groups)];
      expect(Array.from(groups, (group) => first[group])).toEqual(Array.from(experience.groups));
    }),
  );
});

test("text is not tokenised: rollouts without ids are refused", () => {
  expect(() => samplesOfRollouts([{ text: "abc", promptIds: Int32Array.of(1) }])).toThrow("rollouts[0].tokenIds");
});

test.each<[string, () => unknown, string]>([
  ["lengths beyond the values", () => unpackRows(LIKE, [1]), "ERR_SURPRISAL_SHAPE"],
  ["values beyond the lengths", () => unpackRows(Float64Array.of(1, 2), [1]), "ERR_SURPRISAL_SHAPE"],
  ["a negative length", () => unpackRows(LIKE, [-1]), "ERR_SURPRISAL_RANGE"],
  ["rows of two kinds", () => packRows<Float64Array | Int32Array>([LIKE, new Int32Array(1)]), "ERR_SURPRISAL_DTYPE"],
  [
    "a width below the longest row",
    () => padRows(LIKE, { offsets: Int32Array.of(0), width: -1 }),
    "ERR_SURPRISAL_OPTION",
  ],
  ["a negative segment", () => positionIds([-1]), "ERR_SURPRISAL_RANGE"],
  ["a row that is not there", () => selectRows(samplesOf([]), [0]), "ERR_SURPRISAL_RANGE"],
  [
    "a token id that is none",
    () => samplesOf([{ prompt: { ids: [1] }, completions: [{ tokenIds: [1.5] }] }]),
    "ERR_SURPRISAL_RANGE",
  ],
  [
    "a prompt without ids",
    () => samplesOf([{ prompt: { text: "x" }, completions: [{ tokenIds: [1] }] }]),
    "ERR_SURPRISAL_OPTION",
  ],
  [
    "a NaN log-prob",
    () => samplesOf([{ prompt: { ids: [1] }, completions: [{ tokenIds: [1], samplerLogProbs: [NaN] }] }]),
    "ERR_SURPRISAL_VALUE",
  ],
  [
    "a mask of another length",
    () => samplesOf([{ prompt: { ids: [1] }, completions: [{ tokenIds: [1], mask: [] }] }]),
    "ERR_SURPRISAL_SHAPE",
  ],
])("%s is refused", (_, call, code) => {
  expect(errorCode(call)).toBe(code);
});

test("log-probs that one response lacks are those of none", () => {
  const samples = samplesOf([
    { prompt: { ids: [1] }, completions: [{ tokenIds: [1], samplerLogProbs: [-1] }, { tokenIds: [2] }] },
  ]);
  expect(samples.samplerLogProbs).toBeUndefined();
});

test("what is unreadable in an entry is taken from its raw output", () => {
  expect(completionInfo({ token_ids: "1 2", raw_output: { token_ids: [1, 2], finish_reason: "length" } })).toEqual({
    tokenIds: [1, 2],
    tokenCount: 2,
    finishReason: "length",
    stopReason: null,
    truncated: true,
  });
});
