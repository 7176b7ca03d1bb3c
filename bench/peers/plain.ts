// The work as one writes it in JavaScript: loops over typed arrays, float64 accumulators.
import { inProcess, numbersOf, type Outputs } from "./in-process";
import type { Peer } from "./peer";
import type { PeerTask, PeerWork } from "./task";

function logprob(task: PeerTask): () => Outputs {
  const [rows, vocab] = numbersOf(task, "rows", "vocab");
  const { logits, targets } = task.arrays as { logits: Float32Array; targets: Int32Array };
  const logProbs = new Float32Array(rows);
  const entropies = new Float32Array(rows);
  return () => {
    for (let n = 0; n < rows; ++n) {
      const begin = n * vocab;
      let top = -Infinity;
      for (let j = begin; j < begin + vocab; ++j) if (logits[j]! > top) top = logits[j]!;
      let sum = 0;
      let weighted = 0;
      for (let j = begin; j < begin + vocab; ++j) {
        const d = logits[j]! - top;
        const e = Math.exp(d);
        sum += e;
        weighted += e * d;
      }
      const log = Math.log(sum);
      logProbs[n] = logits[begin + targets[n]!]! - top - log;
      entropies[n] = log - weighted / sum;
    }
    return { logProbs, entropies };
  };
}

function logprobBackward(task: PeerTask): () => Outputs {
  const [rows, vocab] = numbersOf(task, "rows", "vocab");
  const { logits, targets, logSumExps, entropies, gradLogProbs, gradEntropies } = task.arrays as Record<
    string,
    Float32Array
  >;
  const gradient = new Float32Array(rows * vocab);
  return () => {
    for (let n = 0; n < rows; ++n) {
      const [begin, log, entropy, a, h] = [
        n * vocab,
        logSumExps![n]!,
        entropies![n]!,
        gradLogProbs![n]!,
        gradEntropies![n]!,
      ];
      for (let j = begin; j < begin + vocab; ++j) {
        const surprisal = logits![j]! - log;
        gradient[j] = Math.exp(surprisal) * (-(a + h * entropy) - h * surprisal);
      }
      gradient[begin + targets![n]!]! += a;
    }
    return { gradient };
  };
}

function gae(task: PeerTask): () => Outputs {
  const [rows, steps, gamma, lambda] = numbersOf(task, "rows", "steps", "gamma", "lambda");
  const { rewards, values, mask } = task.arrays as { rewards: Float32Array; values: Float32Array; mask: Uint8Array };
  const advantages = new Float32Array(rows * steps);
  const returns = new Float32Array(rows * steps);
  return () => {
    for (let b = 0; b < rows; ++b) {
      let carry = 0;
      let next = 0;
      for (let i = (b + 1) * steps - 1; i >= b * steps; --i) {
        if (mask[i] === 0) {
          advantages[i] = 0;
          returns[i] = 0;
          continue;
        }
        carry = rewards[i]! + gamma * next - values[i]! + gamma * lambda * carry;
        next = values[i]!;
        advantages[i] = carry;
        returns[i] = carry + next;
      }
    }
    return { advantages, returns };
  };
}

// One loop for each kind of ids: a loop over both runs at the speed of neither.
function narrowSpans(tokens: Int32Array, a: number, b: number, c: number, end: number): Outputs {
  const begins: number[] = [];
  const finishes: number[] = [];
  let open = -1;
  for (let i = 0; i < tokens.length; ++i) {
    const id = tokens[i]!;
    if (id === end) {
      if (open >= 0) {
        begins.push(open);
        finishes.push(i + 1);
        open = -1;
      }
    } else if (open < 0 && id === a && tokens[i + 1] === b && tokens[i + 2] === c) open = i + 3;
  }
  return { begins: Int32Array.from(begins), finishes: Int32Array.from(finishes) };
}

function wideSpans(tokens: BigInt64Array, a: bigint, b: bigint, c: bigint, end: bigint): Outputs {
  const begins: number[] = [];
  const finishes: number[] = [];
  let open = -1;
  for (let i = 0; i < tokens.length; ++i) {
    const id = tokens[i]!;
    if (id === end) {
      if (open >= 0) {
        begins.push(open);
        finishes.push(i + 1);
        open = -1;
      }
    } else if (open < 0 && id === a && tokens[i + 1] === b && tokens[i + 2] === c) open = i + 3;
  }
  return { begins: Int32Array.from(begins), finishes: Int32Array.from(finishes) };
}

function spans(task: PeerTask): () => Outputs {
  const [a, b, c, end] = numbersOf(task, "start0", "start1", "start2", "end");
  const ids = task.arrays["tokens"]!;
  if (!(ids instanceof BigInt64Array)) return () => narrowSpans(ids as Int32Array, a, b, c, end);
  const [wideA, wideB, wideC, wideEnd] = [BigInt(a), BigInt(b), BigInt(c), BigInt(end)];
  return () => wideSpans(ids, wideA, wideB, wideC, wideEnd);
}

function groupNormalize(task: PeerTask): () => Outputs {
  const [items, size, epsilon] = numbersOf(task, "items", "size", "epsilon");
  const values = task.arrays["values"] as Float32Array;
  const normalized = new Float32Array(items);
  const groups = Math.floor(items / size);
  const means = new Float32Array(groups);
  const stds = new Float32Array(groups);
  return () => {
    for (let g = 0; g < groups; ++g) {
      const begin = g * size;
      let mean = 0;
      for (let i = begin; i < begin + size; ++i) mean += values[i]!;
      mean /= size;
      let squares = 0;
      for (let i = begin; i < begin + size; ++i) squares += (values[i]! - mean) ** 2;
      const std = Math.sqrt(squares / (size - 1));
      means[g] = mean;
      stds[g] = std;
      const factor = 1 / (std + epsilon);
      for (let i = begin; i < begin + size; ++i) normalized[i] = (values[i]! - mean) * factor;
    }
    return { normalized };
  };
}

function sequence(task: PeerTask, withGradient: boolean): () => Outputs {
  const [rows, steps, clipLow, clipHigh] = numbersOf(task, "rows", "steps", "clipLow", "clipHigh");
  const { current, old, mask, advantages } = task.arrays as Record<string, Float32Array>;
  const ratios = new Float32Array(rows);
  const gradLogProbs = new Float32Array(withGradient ? rows * steps : 0);
  return () => {
    for (let b = 0; b < rows; ++b) {
      let sum = 0;
      let kept = 0;
      for (let i = b * steps; i < (b + 1) * steps; ++i)
        if (mask![i] !== 0) {
          sum += current![i]! - old![i]!;
          ++kept;
        }
      const ratio = Math.exp(sum / Math.max(kept, 1));
      ratios[b] = ratio;
      if (!withGradient) continue;
      const advantage = advantages![b]!;
      const clipped = Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh);
      const slope = ratio * advantage <= clipped * advantage ? (advantage * ratio) / (kept * rows) : 0;
      for (let i = b * steps; i < (b + 1) * steps; ++i) gradLogProbs[i] = mask![i] !== 0 ? slope : 0;
    }
    return { ratios, gradLogProbs };
  };
}

/** The clipped surrogate of tokens, with the figures that trainers log. */
function tokenLoss(task: PeerTask, withGradient: boolean): () => Outputs {
  const [rows, steps, clipLow, clipHigh] = numbersOf(task, "rows", "steps", "clipLow", "clipHigh");
  const { current, old, mask, advantages } = task.arrays as Record<string, Float32Array>;
  const gradLogProbs = new Float32Array(withGradient ? rows * steps : 0);
  return () => {
    let sum = 0;
    let kept = 0;
    let clipped = 0;
    let ratios = 0;
    let k3 = 0;
    for (let b = 0; b < rows; ++b) {
      const advantage = advantages![b]!;
      for (let i = b * steps; i < (b + 1) * steps; ++i) {
        if (mask![i] === 0) {
          if (withGradient) gradLogProbs[i] = 0;
          continue;
        }
        const x = current![i]! - old![i]!;
        const ratio = Math.exp(x);
        const free = -advantage * ratio;
        const banded = -advantage * Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh);
        sum += Math.max(free, banded);
        ++kept;
        if (banded > free) ++clipped;
        ratios += ratio;
        k3 += ratio - 1 - x;
        if (withGradient) gradLogProbs[i] = banded > free ? 0 : free;
      }
    }
    return { total: Float64Array.of(sum), figures: Float64Array.of(kept, clipped, ratios, k3), gradLogProbs };
  };
}

/** The clipped surrogate of sequences, each token a term, with the figures that trainers log. */
function rowLoss(task: PeerTask): () => Outputs {
  const [rows, steps, clipLow, clipHigh] = numbersOf(task, "rows", "steps", "clipLow", "clipHigh");
  const { current, old, mask, advantages } = task.arrays as Record<string, Float32Array>;
  const gradLogProbs = new Float32Array(rows * steps);
  return () => {
    let total = 0;
    let kept = 0;
    let clipped = 0;
    let ratios = 0;
    let k3 = 0;
    for (let b = 0; b < rows; ++b) {
      const [begin, end, advantage] = [b * steps, (b + 1) * steps, advantages![b]!];
      let sum = 0;
      let count = 0;
      for (let i = begin; i < end; ++i) {
        if (mask![i] === 0) continue;
        const x = current![i]! - old![i]!;
        const ratio = Math.exp(x);
        sum += x;
        ++count;
        ratios += ratio;
        k3 += ratio - 1 - x;
      }
      const ratio = Math.exp(sum / Math.max(count, 1));
      const free = -advantage * ratio;
      const banded = -advantage * Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh);
      total += count * Math.max(free, banded);
      kept += count;
      if (banded > free) clipped += count;
      const slope = banded > free ? 0 : free;
      for (let i = begin; i < end; ++i) gradLogProbs[i] = mask![i] === 0 ? 0 : slope;
    }
    return { total: Float64Array.of(total), figures: Float64Array.of(kept, clipped, ratios, k3), gradLogProbs };
  };
}

const WORK: Readonly<Partial<Record<PeerWork, (task: PeerTask) => () => Outputs>>> = {
  logprob,
  logprobBackward,
  gae,
  spans,
  groupNormalize,
  sequenceRatio: (task) => sequence(task, false),
  sequenceGradient: (task) => sequence(task, true),
  tokenLoss: (task) => tokenLoss(task, false),
  tokenGradient: (task) => tokenLoss(task, true),
  rowGradient: rowLoss,
};

export function plainPeer(): Promise<Peer> {
  return Promise.resolve({
    name: "plain JavaScript",
    version: `Node ${process.versions.node}`,
    formsOf: (task) => {
      const work = WORK[task.kind];
      // Bits of bfloat16 are no numbers that JavaScript knows.
      return Promise.resolve(task.bfloat16 || !work ? [] : [inProcess("plain JavaScript", "js", task, work(task))]);
    },
    release: () => Promise.resolve(),
    close: () => undefined,
  });
}
