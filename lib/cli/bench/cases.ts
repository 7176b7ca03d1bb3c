// What surprisal bench measures: three kernels, each with its definition written out in float64, which is what an error is
// measured against.
import type { BackendName } from "../../backend/backend";
import { integersBelow } from "../../core/random";
import { groupNormalize } from "../../ops/group";
import { logprob } from "../../ops/logprob";
import { gae } from "../../ops/scan";

export interface BenchCase {
  readonly name: string;
  /** The sizes, for people. */
  readonly sizes: string;
  /** Bytes that must be read and written at least. */
  readonly bytes: number;
  /** One call. */
  readonly run: (backend: BackendName) => void;
  /** The largest |x − definition| / (1 + |definition|) of one call. */
  readonly error: (backend: BackendName) => number;
}

/** Numbers in [−1, 1) from a seed. */
function numbers(count: number, seed: number): Float32Array {
  const draw = integersBelow(2 ** 24, seed);
  return Float32Array.from({ length: count }, () => draw() / 2 ** 23 - 1);
}

function largest(got: ArrayLike<number>, want: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < want.length; ++i) most = Math.max(most, Math.abs(got[i]! - want[i]!) / (1 + Math.abs(want[i]!)));
  return most;
}

function logprobCase(rows: number, vocabulary: number): BenchCase {
  const logits = numbers(rows * vocabulary, 1).map((x) => 12 * x);
  const draw = integersBelow(vocabulary, 2);
  const targets = Int32Array.from({ length: rows }, draw);
  const call = (backend: BackendName) => logprob(logits, targets, { shape: [rows, vocabulary], backend });
  return {
    name: "logprob",
    sizes: `${rows} rows of ${vocabulary} float32 logits`,
    bytes: logits.byteLength,
    run: call,
    error(backend) {
      const { logProbs, entropies } = call(backend);
      const wanted = Array.from({ length: rows }, (_, row) => {
        const z = Float64Array.from(logits.subarray(row * vocabulary, (row + 1) * vocabulary));
        const most = z.reduce((max, x) => Math.max(max, x), -Infinity);
        const logSum = most + Math.log(z.reduce((sum, x) => sum + Math.exp(x - most), 0));
        const entropy = z.reduce((sum, x) => sum - Math.exp(x - logSum) * (x - logSum), 0);
        return [z[targets[row]!]! - logSum, entropy] as const;
      });
      return Math.max(
        largest(
          logProbs,
          wanted.map(([logProb]) => logProb),
        ),
        largest(
          entropies,
          wanted.map(([, entropy]) => entropy),
        ),
      );
    },
  };
}

function gaeCase(rows: number, tokens: number): BenchCase {
  const [gamma, lambda] = [1, 0.95];
  const rewards = numbers(rows * tokens, 3);
  const values = numbers(rows * tokens, 4);
  const call = (backend: BackendName) => gae(rewards, values, { shape: [rows, tokens], gamma, lambda, backend });
  return {
    name: "gae",
    sizes: `${rows} rows of ${tokens} float32 rewards and values`,
    bytes: 4 * rewards.byteLength,
    run: call,
    error(backend) {
      const wanted = new Float64Array(rows * tokens);
      // Each advantage by itself, from the definition: a sum over the steps behind it. Some rows and steps are enough.
      const { advantages } = call(backend);
      let most = 0;
      for (let row = 0; row < rows; row += Math.ceil(rows / 8))
        for (let t = 0; t < tokens; t += Math.ceil(tokens / 8)) {
          const at = row * tokens + t;
          for (let l = 0; t + l < tokens; ++l) {
            const next = t + l + 1 < tokens ? values[at + l + 1]! : 0;
            wanted[at]! += (gamma * lambda) ** l * (rewards[at + l]! + gamma * next - values[at + l]!);
          }
          most = Math.max(most, Math.abs(advantages[at]! - wanted[at]!) / (1 + Math.abs(wanted[at]!)));
        }
      return most;
    },
  };
}

function groupCase(groups: number, members: number): BenchCase {
  const rewards = numbers(groups * members, 5);
  const labels = Int32Array.from({ length: groups * members }, (_, i) => Math.floor(i / members));
  const call = (backend: BackendName) => groupNormalize(rewards, { groups: labels, backend });
  return {
    name: "groupNormalize",
    sizes: `${groups} groups of ${members} float32 rewards`,
    bytes: 3 * rewards.byteLength,
    run: call,
    error(backend) {
      const wanted = Array.from({ length: groups }, (_, g) => {
        const own = Array.from(rewards.subarray(g * members, (g + 1) * members));
        const mean = own.reduce((sum, x) => sum + x, 0) / members;
        const std = Math.sqrt(own.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (members - 1));
        return own.map((x) => (x - mean) / (std + 1e-6));
      }).flat();
      return largest(call(backend).normalized, wanted);
    },
  };
}

/** `small` is for a quick look: sizes at which a call takes milliseconds in JavaScript. */
export function benchCases(small: boolean): readonly BenchCase[] {
  return small
    ? [logprobCase(16, 4096), gaeCase(64, 512), groupCase(512, 8)]
    : [logprobCase(128, 32_000), gaeCase(512, 2048), groupCase(65_536, 8)];
}
