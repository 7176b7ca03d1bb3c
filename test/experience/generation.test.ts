// The rounds of a generation: every completion ends in one place, whatever comes when.
import { EventEmitter, once } from "node:events";
import * as fc from "fast-check";
import {
  type Generated,
  generateCompletions,
  generationRounds,
  type GenerationOptions,
  type GenerationRequest,
} from "../../lib/experience";

/** Runs the rounds with what a script says; beyond its end nothing comes. */
function run(prompts: readonly string[], options: GenerationOptions, script: readonly Generated<string>[]) {
  const requests: GenerationRequest<string>[] = [];
  const rounds = generationRounds<string, string>(prompts, options);
  let step = rounds.next();
  while (!step.done) {
    requests.push(step.value);
    step = rounds.next(script[requests.length - 1] ?? null);
  }
  return { requests, ...step.value };
}

const words = {
  onExcess: fc.constantFrom("keep" as const, "trim" as const, "drop" as const),
  onShort: fc.constantFrom("keep" as const, "drop" as const),
};

test("every completion is in a group or left out, once and under its own prompt", () => {
  const sizes = fc.array(fc.option(fc.array(fc.nat(4), { maxLength: 5 })), { maxLength: 5 });
  fc.assert(
    fc.property(
      fc.nat(4),
      fc.nat(3),
      fc.nat(3),
      sizes,
      fc.record(words),
      (count, wanted, retryRounds, rounds, choice) => {
        const prompts = Array.from({ length: count }, (_, i) => `p${i}`);
        const came: string[] = [];
        const requests: GenerationRequest<string>[] = [];
        const generator = generationRounds<string, string>(prompts, {
          samplesPerPrompt: wanted,
          retryRounds,
          ...choice,
        });
        let step = generator.next();
        while (!step.done) {
          const request = step.value;
          requests.push(request);
          const round = rounds[request.round] ?? null;
          const lists =
            round &&
            request.prompts.map((prompt, i) =>
              Array.from({ length: round[i] ?? 0 }, (_, k) => `${prompt}/${request.round}/${k}`),
            );
          came.push(...(lists?.flat() ?? []));
          step = generator.next(lists);
        }
        const { groups, leftOut, statistics } = step.value;
        const kept = groups.flatMap(({ completions }) => completions);
        const left = leftOut.flatMap(({ completions }) => completions);
        expect([...kept, ...left].sort()).toEqual(came.slice().sort());
        for (const { prompt, completions } of [...groups, ...leftOut])
          for (const completion of completions) expect(completion.split("/")[0]).toBe(prompt);
        expect(statistics.completions).toBe(came.length);
        expect(statistics.trimmedCompletions).toBe(
          leftOut
            .filter(({ reason, index }) => reason === "excess" && groups.some((group) => group.index === index))
            .reduce((sum, { completions }) => sum + completions.length, 0),
        );
        expect(groups.length + statistics.droppedPrompts).toBe(count);
        for (const { completions } of groups) {
          if (wanted > 0 && choice.onExcess !== "keep") expect(completions.length).toBeLessThanOrEqual(wanted);
          if (choice.onShort === "drop") expect(completions.length).toBeGreaterThanOrEqual(wanted);
        }
        expect(requests.length).toBeLessThanOrEqual(1 + retryRounds);
      },
    ),
  );
});

test("only what lacks is asked for, and only of those who lack it", () => {
  const { requests, groups, statistics } = run(["a", "b", "c"], { samplesPerPrompt: 2 }, [
    [["1", "2"], ["3"]],
    [["4"], []],
    [["5", "6"]],
  ]);
  expect(requests).toEqual([
    { prompts: ["a", "b", "c"], indices: [0, 1, 2], counts: [2, 2, 2], round: 0 },
    { prompts: ["b", "c"], indices: [1, 2], counts: [1, 2], round: 1 },
    { prompts: ["c"], indices: [2], counts: [2], round: 2 },
  ]);
  expect(groups.map(({ completions }) => completions)).toEqual([
    ["1", "2"],
    ["3", "4"],
    ["5", "6"],
  ]);
  expect(statistics).toEqual({
    rounds: 3,
    completions: 6,
    trimmedCompletions: 0,
    partialPrompts: 0,
    droppedPrompts: 0,
  });
});

test("a first round of nothing is asked again by default, and the end where that is said", () => {
  expect(run(["a"], { samplesPerPrompt: 1 }, [null, [["1"]]]).groups).toHaveLength(1);
  const ended = run(["a"], { samplesPerPrompt: 1, onNothing: "stop" }, [null, [["1"]]]);
  expect([ended.groups.length, ended.requests.length]).toEqual([0, 1]);
});

test.each([
  [{ samplesPerPrompt: -1 }, "samplesPerPrompt"],
  [{ samplesPerPrompt: 1, retryRounds: 0.5 }, "retryRounds"],
  [{ samplesPerPrompt: 1, onExcess: "lose" as never }, "onExcess"],
])("%j is refused", (options, named) => {
  expect(() => run(["a"], options, [])).toThrow(named);
});

test("more lists than prompts are refused, unless they are to be ignored", () => {
  expect(() => run(["a"], { samplesPerPrompt: 1 }, [[["1"], ["2"]]])).toThrow(
    "1 lists of completions, one for each prompt",
  );
  expect(run(["a"], { samplesPerPrompt: 1, surplusLists: "ignore" }, [[["1"], ["2"]]]).groups).toMatchObject([
    { completions: ["1"] },
  ]);
});

test("calls of a few prompts are put together in the order of the prompts, however late they come", async () => {
  const prompts = Array.from({ length: 7 }, (_, i) => ({ ids: [i] }));
  // Each call is answered behind the one that comes after it.
  const answers = new EventEmitter();
  const behind = (prompt: number) => (prompt < prompts.length ? once(answers, String(prompt)) : Promise.resolve());
  const { groups } = await generateCompletions(
    {
      promptsPerCall: 2,
      generate: async ({ prompts: asked }) => {
        const ids = asked.map((prompt) => prompt.ids![0]!);
        await behind(ids.at(-1)! + 1);
        answers.emit(String(ids[0]));
        return asked.map(({ ids }) => [{ tokenIds: [10 + ids![0]!] }]);
      },
    },
    prompts,
    { samplesPerPrompt: 1, concurrency: 4 },
  );
  expect(groups.map(({ index, completions }) => [index, completions[0]!.tokenIds[0]])).toEqual(
    prompts.map((_, i) => [i, 10 + i]),
  );
});

test("what a policy returns after an abort is not counted", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const onProgress = jest.fn();
  const made = generateCompletions(
    {
      generate: ({ prompts }) => {
        controller.abort(reason);
        return Promise.resolve(prompts.map(() => [{ tokenIds: [1] }]));
      },
    },
    [{ ids: [5] }],
    { samplesPerPrompt: 1, signal: controller.signal, onProgress },
  );
  await expect(made).rejects.toBe(reason);
  expect(onProgress).not.toHaveBeenCalled();
});
