// What every public function does first: names that it does not know are refused, with the nearest that it knows, and what is no
// object of options too. Calls inside of lib/ pass this by.
import {
  advantagePipeline,
  computeAdvantages,
  deviceStream,
  gae,
  gaeAsync,
  grpoAdvantage,
  gspoLoss,
  logprob,
  logprobBackward,
  policyLoss,
  policyLossFromLogits,
  ppoLoss,
  sequenceWeights,
  SurprisalError,
  valueLoss,
  whiten,
} from "../../lib";
import { checked, checkedAsync } from "../../lib/core/checked-call";
import { createCollective } from "../../lib/collective";
import { readAllRollouts, toBatch } from "../../lib/io";
import { renderTerminal } from "../../lib/report";
import { padRows } from "../../lib/experience";
import { finalAnswer } from "../../lib/reward";

const four = Float32Array.of(1, 2, 3, 4);
const ids = Int32Array.of(0, 1);
const rows = { shape: [2, 2] as const };
const batch = { logProbs: four, oldLogProbs: four, advantages: four, ...rows };
const rewards = { rewards: four, groups: [0, 0, 1, 1] };
const pipeline = { estimator: "grpo", groups: "all" } as const;
const any = (value: object): never => value as never;

/** What a call throws. */
function refusal(call: () => unknown): SurprisalError {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(SurprisalError);
    expect((error as SurprisalError).code).toBe("ERR_SURPRISAL_OPTION");
    return error as SurprisalError;
  }
  throw new Error("nothing was thrown");
}

describe("an unknown name is refused, and the nearest is named", () => {
  test.each<[string, () => unknown, RegExp]>([
    ["an option", () => gae(four, four, any({ ...rows, gama: 1, lambda: 1 })), /^gae: options has "gama".*"gamma"\?$/],
    ["another case", () => grpoAdvantage(rewards, any({ scoreover: "all" })), /"scoreover".*"scoreOver"\?$/],
    ["that of another function", () => grpoAdvantage(rewards, any({ groupSize: 2 })), /"groupSize", which is not an/],
    [
      "a field of out",
      () => gae(four, four, any({ ...rows, gamma: 1, lambda: 1, out: { advantage: four } })),
      /^gae: out has "advantage".*"advantages"\?$/,
    ],
    [
      "a field of kl",
      () => ppoLoss(batch, any({ clip: 0.2, kl: { coeficient: 1 } })),
      /^ppoLoss: kl has "coeficient".*"coefficient"/,
    ],
    [
      "a field within a field",
      () => ppoLoss(batch, any({ clip: 0.2, klClamps: { k3: { logclamp: 1 } } })),
      /^ppoLoss: klClamps\.k3 has "logclamp"/,
    ],
    [
      "an option of a loss by name",
      () => policyLoss("ppo", batch, any({ clip: 0.2, entropybonus: {} })),
      /^policyLoss: options has "entropybonus".*"entropyBonus"/,
    ],
    [
      "the option of another loss",
      () => policyLoss("gspo", batch, any({ clip: 0.2, dualClip: 3 })),
      /^policyLoss: options has "dualClip"/,
    ],
    [
      "an option of an estimator by name",
      () => computeAdvantages("grpo", rewards, any({ episilon: 1 })),
      /"episilon".*"epsilon"/,
    ],
    [
      "a loss from logits",
      () => policyLossFromLogits("ppo", four, ids, batch, any({ clip: 0.2, vocabb: 2 })),
      /"vocabb"/,
    ],
    [
      "a batch field",
      () => policyLoss("ppo", any({ ...batch, oldLogprobs: four }), { clip: 0.2 }),
      /^policyLoss: batch has "oldLogprobs".*"oldLogProbs"/,
    ],
    [
      "a place on a device",
      () => deviceStream(any({ backed: "emulated" })),
      /^deviceStream: options has "backed".*"backend"/,
    ],
    ["the options of a collective", () => createCollective(2, any({ timeOut: 1 })), /^createCollective: .*"timeout"/],
    ["the options of a reader", () => toBatch([], any({ layot: "padded" })), /^toBatch: .*"layout"/],
    [
      "the options of the report",
      () => renderTerminal(any({ steps: [] }), any({ color: true })),
      /^renderTerminal: .*"colour"/,
    ],
    ["the options of views", () => padRows(four, any({ offsets: ids, sides: "left" })), /^padRows: .*"side"/],
    ["the options of a reward", () => finalAnswer("4", any({ source: [] })), /^finalAnswer: .*"sources"/],
    ["no near name", () => whiten(four, any({ zzzzzzzz: 1 })), /it may have .*keepMean/],
  ])("%s", (_, call, message) => {
    expect(refusal(call).message).toMatch(message);
  });

  test("the details name it", () => {
    const { details } = refusal(() => ppoLoss(batch, any({ clip: 0.2, kl: { zetta: 7 } })));
    expect(details).toMatchObject({ op: "ppoLoss", name: "kl.zetta", got: 7 });
  });

  test("also after a call that was right, and in every order", () => {
    const good = { ...rows, gamma: 1, lambda: 1 };
    const turned = { lambda: 1, gamma: 1, ...rows };
    for (const options of [good, turned, good, turned]) expect(gae(four, four, options)).toEqual(gae(four, four, good));
    for (const options of [
      { ...good, frm: 1 },
      { frm: 1, ...turned },
      { ...turned, frm: undefined },
    ])
      expect(refusal(() => gae(four, four, any(options))).message).toContain('"frm"');
  });

  test.each<[string, () => unknown, RegExp]>([
    [
      "an option",
      () => gae([1, 2], [0, 0], any({ shape: [1, 2], gamma: 1, lambda: 1, frm: 2 })),
      /^gae: options has "frm"/,
    ],
    [
      "that of another function",
      () => grpoAdvantage({ ...rewards, rewards: [1, 2, 3, 4] }, any({ groupSize: 2 })),
      /^grpoAdvantage: options has "groupSize"/,
    ],
    [
      "a batch field",
      () => policyLoss("ppo", any({ logProbs: [[-1]], advantages: [1], oldLogprobs: [[-1]] }), { clip: 0.2 }),
      /^policyLoss: batch has "oldLogprobs".*"oldLogProbs"/,
    ],
    [
      "a field of a batch of a list",
      () =>
        advantagePipeline(
          any([
            { rewards: [1], mask: [[1]] },
            { rewards: [1], msk: [[1]] },
          ]),
          pipeline,
        ),
      /^advantagePipeline: batches\[1\] has "msk".*"mask"/,
    ],
  ])("with plain arrays too: %s", (_, call, message) => {
    expect(refusal(call).message).toMatch(message);
  });

  test.each<[string, () => unknown, RegExp]>([
    [
      "one array for several outputs",
      () => gae(four, four, any({ ...rows, gamma: 1, lambda: 1, out: new Float32Array(4) })),
      /^gae: out is Float32Array, expected an object with advantages, returns$/,
    ],
    [
      "an empty one",
      () => logprob(four, ids, any({ ...rows, out: [] })),
      /^logprob: out is \[\], expected an object with .*logProbs.*entropies/,
    ],
    ["options", () => whiten(four, any([])), /^whiten: options is \[\], expected an object of options$/],
    [
      "a batch",
      () => policyLoss("ppo", any(four), { clip: 0.2 }),
      /^policyLoss: batch is Float32Array, expected an obj/,
    ],
    [
      "a batch of a list",
      () => advantagePipeline(any([four]), pipeline),
      /^advantagePipeline: batches\[0\] is Float32Array, expected an object of arrays$/,
    ],
  ])("an array in the place of an object: %s", (_, call, message) => {
    expect(refusal(call).message).toMatch(message);
  });

  test("in each batch of a list, with its place", () => {
    const call = () => advantagePipeline(any([{ shape: [4, 1], rewards: four, rewrds: four }]), pipeline);
    expect(refusal(call).message).toMatch(/^advantagePipeline: batches\[0\] has "rewrds".*"rewards"\?$/);
    expect(refusal(call).details).toMatchObject({ name: "batches[0].rewrds", got: four });
    expect(refusal(() => advantagePipeline(any([7]), pipeline)).message).toMatch(
      /^advantagePipeline: batches\[0\] is 7/,
    );
  });

  test("a promise is rejected", async () => {
    await expect(gaeAsync([1, 2], [0, 0], any({ ...rows, gama: 1 }))).rejects.toThrow(/"gama"/);
    await expect(gaeAsync(four, four, any({ ...rows, gama: 1 }))).rejects.toThrow(/"gama"/);
    await expect(readAllRollouts("/nowhere", any({ formt: "jsonl" }))).rejects.toThrow(/"formt"/);
  });
});

describe("what is taken", () => {
  test("a batch may have fields that other losses and estimators read", () => {
    const more = { ...batch, values: four, returns: four, rewards: four, tokenIds: ids };
    expect(policyLoss("ppo", more, { clip: 0.2 })).toEqual(policyLoss("ppo", batch, { clip: 0.2 }));
    expect(valueLoss(any({ values: four, returns: four, ...batch })).loss).toBe(0);
  });

  test("a result that is handed on may have more than is read of it", () => {
    const state = logprob(four, ids, rows);
    expect(logprobBackward(four, ids, state, { ...rows, gradLogProbs: Float32Array.of(1, 1) })).toHaveLength(4);
  });

  test("options that a class or another object holds", () => {
    const options = Object.assign(Object.create({ epsilon: 1 }) as object, { ...rows, form: "ratio" });
    expect(
      refusal(() => sequenceWeights(four, any(Object.assign(Object.create({ epsilom: 1 }) as object, options)))),
    ).toBeDefined();
  });
});

test.each(
  [null, undefined, 1, "x", true, () => 0, [], Float32Array.of(1)].map((value) => [String(value), value] as const),
)("options that are %s are refused, where they are needed", (_, value) => {
  expect(refusal(() => gspoLoss(batch, value as never)).details.op).toBe("gspoLoss");
});

describe("what reading an argument throws", () => {
  const hostile = {
    ...rows,
    gamma: 1,
    get lambda(): number {
      throw new TypeError("boom");
    },
  };

  test("has the name of the function, and the error as its cause", () => {
    const error = refusal(() => gae(four, four, hostile));
    expect(error.message).toMatch(/^gae: an argument cannot be used: boom/);
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  test("errors that the caller throws where it is called back stay its own, and so does the reason of a signal", async () => {
    const own = new Error("mine");
    const calling: (run: () => unknown) => unknown = checked("calling", () => (run: () => unknown) => run(), "run()");
    expect(() =>
      calling(() => {
        throw own;
      }),
    ).toThrow(own);
    const stop = async ({ signal }: { signal: AbortSignal }): Promise<void> => {
      await Promise.resolve();
      signal.throwIfAborted();
    };
    const aborting: typeof stop = checkedAsync("aborting", () => stop, "options{signal}");
    await expect(aborting({ signal: AbortSignal.abort(own) })).rejects.toBe(own);
  });
});
