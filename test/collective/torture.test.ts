// Long random runs: calls, lengths, types and sub-groups drawn from one seed by every rank, which knows what must come out.
import { valuesOfRanks } from "../support/run-ranks";

test.each([
  [2, 1, 8],
  [3, 2, 64],
  [5, 3, 24],
  [4, 4, 65_536],
])(
  "%i ranks agree with what each can compute by itself, seed %i, chunks of %i bytes",
  async (size, seed, chunkBytes) => {
    const wrong = await valuesOfRanks(
      Array<number>(size).fill(seed),
      (c, _, first) => {
        let state = first;
        const draw = (below: number): number => {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
          return Math.floor((state / 2 ** 32) * below);
        };
        // What rank r sends in round k.
        const numbers = (r: number, k: number, n: number, whole: boolean): Float64Array | Int32Array =>
          whole
            ? Int32Array.from({ length: n }, (__, i) => ((r + 1) * (k + 3) * (i + 7)) % 1000)
            : Float64Array.from({ length: n }, (__, i) => Math.sin(r * 100 + k + i) / 3);
        const complaints: string[] = [];
        for (let k = 0; k < 400; ++k) {
          const kind = draw(4);
          const whole = draw(2) === 1;
          const n = draw(10) === 0 ? draw(3000) : draw(6);
          const reduction = (["sum", "min", "max"] as const)[draw(3)]!;
          const flags = draw(2 ** c.size - 1) + 1;
          const ranks = Array.from({ length: c.size }, (__, r) => r).filter((r) => (flags >> r) % 2 === 1);
          if (draw(2) === 1) ranks.reverse();
          const root = draw(ranks.length);
          if (!ranks.includes(c.rank)) continue;
          const group = ranks.length === c.size && ranks[0] === 0 ? c : c.subgroup(ranks);
          const sent = ranks.map((r) => numbers(r, k, n, whole));
          const mine = numbers(c.rank, k, n, whole);
          const same = (got: ArrayLike<number>, want: ArrayLike<number>): boolean =>
            got.length === want.length && Array.from(got).every((x, i) => Object.is(x, want[i]));
          const combine = { sum: (a: number, b: number) => a + b, min: Math.min, max: Math.max }[reduction];
          const right = [
            () => (group.barrier(), true),
            () => {
              const want = Array.from({ length: n }, (__, i) =>
                sent.map((part) => part[i]!).reduce((a, b) => combine(a, b)),
              );
              return same(group.allReduce(mine, reduction), want);
            },
            () => group.allGather(mine).every((part, r) => same(part, sent[r]!)),
            () => same(group.broadcast(mine, root), sent[root]!),
          ][kind]!();
          if (!right) complaints.push(`round ${k}, call ${kind}`);
        }
        return complaints;
      },
      { chunkBytes },
    );
    expect(wrong).toEqual(Array(size).fill([]));
  },
);
