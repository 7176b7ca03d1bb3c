// A random call of each public op on logits, and of those on hidden states, which make some.
import * as s from "../../lib";
import { calling, type Drawn, type Options } from "./calling";
import type { Draw } from "./draw";
import { drawLogits, drawMask, drawRows } from "./inputs";
import { lossOptions, tokenForm } from "./loss-options";

function logitMap(d: Draw): Options {
  return { temperature: d.maybe(() => 0.5), scale: d.maybe(() => 2), softcap: d.maybe(() => 3) };
}

function drawTargets(d: Draw, [rows, vocab]: readonly [number, number]): Int32Array {
  return d.array(new Int32Array(rows), () => d.int(0, vocab - 1));
}

/** Ids of each row, once each. */
function drawKept(d: Draw, [rows, vocab]: readonly [number, number]): s.KeptIds {
  const lists = Array.from({ length: rows }, () => {
    const first = d.int(0, vocab - 1);
    return Array.from({ length: d.int(0, Math.min(vocab, 6)) }, (_, k) => (first + k) % vocab);
  });
  const offsets = Int32Array.of(0, ...lists.map((_, b) => lists.slice(0, b + 1).flat().length));
  return { ids: Int32Array.from(lists.flat()), offsets };
}

function drawHead(d: Draw): {
  hidden: Float32Array;
  weight: Float32Array;
  targets: Int32Array;
  options: Options;
  N: number;
  V: number;
} {
  const [N, D, V] = [d.int(1, 4), d.int(1, 9), d.int(1, 40)];
  const small = (n: number): Float32Array => d.array(new Float32Array(n), () => d.int(-8, 8) / 8);
  const [hidden, weight] = [small(N * D), small(V * D)];
  const options = {
    shape: [N, D],
    ...logitMap(d),
    bias: d.maybe(() => small(V)),
    mask: d.maybe(() => drawMask(d, N)),
    chunkRows: d.maybe(() => d.int(1, 3)),
  };
  return { hidden, weight, targets: drawTargets(d, [N, V]), options, N, V };
}

export const LOGIT_CALLS: Readonly<Record<string, (d: Draw) => Drawn>> = {
  logprob(d) {
    const { logits, shape } = drawLogits(d);
    const targets = d.maybe(() => drawTargets(d, shape));
    return calling(s.logprob, [logits, targets ?? null], {
      shape,
      ...logitMap(d),
      mask: d.maybe(() => drawMask(d, shape[0])),
    });
  },
  topLogits(d) {
    const { logits, shape } = drawLogits(d);
    return calling(s.topLogits, [logits, d.int(1, Math.min(5, shape[1]))], { shape });
  },
  divergence(d) {
    const { logits, shape } = drawLogits(d);
    const other = d.array(new Float32Array(logits.length), () => d.int(-16, 16) / 4);
    const options = { beta: d.pick([0, 1, 0.5]), temperature: d.maybe(() => 0.5) };
    return calling(s.divergence, [other, logits], { shape, ...options, mask: d.maybe(() => drawMask(d, shape[0])) });
  },
  logprobBackward(d) {
    const { logits, shape } = drawLogits(d);
    const targets = drawTargets(d, shape);
    const map = logitMap(d);
    const grads = (): Float32Array => d.array(new Float32Array(shape[0]), () => d.int(-4, 4) / 4);
    const options = { shape, ...map, gradLogProbs: grads(), gradEntropies: d.maybe(grads) };
    const given = [logits, targets, options];
    return {
      given,
      run: (backend) =>
        s.logprobBackward(logits, targets, s.logprob(logits, targets, { shape, ...map, backend }), {
          ...options,
          backend,
        }),
    };
  },
  keptLogprobBackward(d) {
    const { logits, shape } = drawLogits(d);
    const targets = drawTargets(d, shape);
    const kept = drawKept(d, shape);
    const map = { shape, ...logitMap(d), mask: d.maybe(() => drawMask(d, shape[0])) };
    const grads = (): Float32Array => d.array(new Float32Array(shape[0]), () => d.int(-4, 4) / 4);
    const by = { gradLogProbs: grads(), gradEntropies: d.maybe(grads) };
    return {
      given: [logits, targets, kept, map, by],
      run(backend) {
        const { state, ...result } = s.keptLogprob(logits, targets, kept, { ...map, backend });
        return [result, s.keptLogprobBackward(logits, targets, kept, state, { ...map, ...by, backend })];
      },
    };
  },
  keptLinearLogprobBackward(d) {
    const { hidden, weight, targets, options, N, V } = drawHead(d);
    const kept = drawKept(d, [N, V]);
    const grads = (): Float32Array => d.array(new Float32Array(N), () => d.int(-4, 4) / 4);
    const by = { gradLogProbs: grads(), gradEntropies: d.maybe(grads) };
    return {
      given: [hidden, weight, targets, kept, options, by],
      run(backend) {
        const call = { ...options, backend } as s.KeptLinearLogprobOptions;
        const { state, ...result } = s.keptLinearLogprob(hidden, weight, targets, kept, call);
        return [result, s.keptLinearLogprobBackward(hidden, weight, targets, state, { ...call, ...by })];
      },
    };
  },
  divergenceBackward(d) {
    const { logits, shape } = drawLogits(d);
    const other = d.array(new Float32Array(logits.length), () => d.int(-16, 16) / 4);
    const grads = d.array(new Float32Array(shape[0]), () => d.int(-4, 4) / 4);
    return calling(s.divergenceBackward, [other, logits, grads], { shape, beta: d.pick([0, 1, 0.5]) });
  },
  logprobMerge(d) {
    const { logits, shape } = drawLogits(d);
    const targets = d.maybe(() => drawTargets(d, shape));
    const [rows, vocab] = shape;
    const map = logitMap(d);
    const mask = d.maybe(() => drawMask(d, rows));
    const cuts = Array.from({ length: d.int(0, 2) }, () => d.int(1, vocab - 1)).sort((a, b) => a - b);
    const given = [logits, targets ?? null, { shape, cuts, mask, ...map }];
    return {
      given,
      run(backend) {
        const bounds = [0, ...new Set(cuts.filter((cut) => cut < vocab && cut > 0)), vocab];
        const states = bounds.slice(1).map((end, p) => {
          const vocabStart = bounds[p]!;
          const columns = end - vocabStart;
          const own = new Float32Array(rows * columns);
          for (let n = 0; n < rows; ++n) own.set(logits.subarray(n * vocab + vocabStart, n * vocab + end), n * columns);
          return s.logprobPartial(own, targets, {
            shape: [rows, columns],
            vocabStart,
            vocabSize: vocab,
            mask,
            ...map,
            backend,
          });
        });
        return { states, merged: s.logprobMerge(states, { rows, ...map, backend }) };
      },
    };
  },
  linearLogprob(d) {
    const { hidden, weight, targets, options } = drawHead(d);
    return calling(s.linearLogprob, [hidden, weight, targets], options);
  },
  linearLogprobBackward(d) {
    const { hidden, weight, targets, options, N, V } = drawHead(d);
    const grads = (): Float32Array => d.array(new Float32Array(N), () => d.int(-4, 4) / 4);
    const back = {
      ...options,
      gradLogProbs: d.maybe(grads),
      gradEntropies: d.maybe(grads),
      gradients: d.maybe(() => d.pick([["hidden"], ["weight"], ["bias", "weight"]])),
    };
    const sums = d.maybe(() => d.array(new Float32Array(weight.length), () => d.int(-4, 4)));
    const biasSums = new Float32Array(V).fill(1);
    return {
      given: [hidden, weight, targets, back, sums],
      run(backend) {
        const state = s.linearLogprob(hidden, weight, targets, { ...options, backend });
        const out = sums && { gradWeight: sums.slice(), gradBias: biasSums.slice() };
        const call = { ...back, ...(out && { out, accumulate: true }), backend };
        return s.linearLogprobBackward(hidden, weight, targets, state, call as s.LinearLogprobBackwardOptions);
      },
    };
  },
  tokenLossFromLogits(d) {
    const rows = drawRows(d);
    const vocab = d.int(1, 20);
    const logits = d.array(new Float32Array(rows.n * vocab), () => d.int(-16, 16) / 4);
    const entropy = d.maybe(() => ({
      coefficient: d.pick([0.1, -1]),
      mask: d.maybe(() => drawMask(d, rows.n)),
    }));
    const { logProbs: _, ...loss } = { ...lossOptions(d, rows), ...tokenForm(d, rows.n) };
    // Ratios of e^100 make slopes that float32 does not hold once they are multiplied by scale / temperature.
    const logClamp = Math.min(20, Number(loss["logClamp"] ?? 20));
    const options = { ...loss, logClamp, ...logitMap(d), vocab, entropy };
    return calling(s.tokenLossFromLogits, [logits, drawTargets(d, [rows.n, vocab])], options);
  },
};
