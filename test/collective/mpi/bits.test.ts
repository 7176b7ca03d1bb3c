// Processes over MPI give the bits of one process: every function that takes a collective, shards of a vocabulary forward and
// backward, the advantage pipeline; on one to four ranks, uneven ones and ones without rows or columns among them.
import * as surprisal from "../../../lib";
import { openCollective } from "../../../lib/collective";
import { eachMpi, valuesOfProcesses } from "../../support/mpi";
import { pipelineInput, pipelineParts, runPipeline } from "../batches";
import { type HeadAnswer, headForwardAndBackward, type HeadShard, headShards, joinedHead } from "../head";
import { joined, plain } from "../joined";
import { everyUser, partsOf, wholeBatch } from "../users";
import { forwardAndBackward, shardsOf, V } from "../vocabulary";

/** One launch a number of ranks runs all three programs: starting processes takes longer than they do. */
const PROGRAM = `(c, s, { part, shard, head, batches }) => ({
  users: (${everyUser.toString()})(c, s, part),
  vocabulary: (${forwardAndBackward.toString()})(c, s, shard),
  head: (${headForwardAndBackward.toString()})(c, s, head),
  pipeline: (${runPipeline.toString()})(c, s, batches),
})` as unknown as (
  collective: surprisal.Collective,
  s: typeof surprisal,
  input: Input,
) => {
  users: ReturnType<typeof everyUser>;
  vocabulary: ReturnType<typeof forwardAndBackward>;
  head: HeadAnswer;
  pipeline: ReturnType<typeof runPipeline>;
};

interface Input {
  readonly part: Parameters<typeof everyUser>[2];
  readonly shard: Parameters<typeof forwardAndBackward>[2];
  readonly head: HeadShard;
  readonly batches: Parameters<typeof runPipeline>[2];
}

const CUTS = [
  { rows: [0, 11], columns: [0, 70], batches: [0, 4] },
  { rows: [0, 4, 11], columns: [0, 32, 70], batches: [0, 1, 4] },
  { rows: [0, 6, 6, 11], columns: [0, 40, 40, 70], batches: [0, 2, 2, 4] },
  { rows: [0, 3, 8, 8, 11], columns: [0, 8, 64, 64, 70], batches: [0, 1, 2, 3, 4] },
] as const;

const whole = wholeBatch(5, 11, "cpu");
const expected = everyUser(undefined, surprisal, whole);
const together = forwardAndBackward(openCollective("single"), surprisal, shardsOf(7, "float32", "cpu", [0, V])[0]!);
const [wholeHead] = headShards(7, "float64", "cpu", [0, V]);
const oneHead = headForwardAndBackward(undefined, surprisal, wholeHead!);
const micro = pipelineInput("cpu", "reinforcePlusPlusBaseline");
const pipeline = runPipeline(undefined, surprisal, micro);

eachMpi((mpi) => {
  test.each(CUTS.map((cuts) => [cuts.rows.length - 1, cuts] as const))("%i ranks", async (_, cuts) => {
    const shards = shardsOf(7, "float32", "cpu", cuts.columns);
    const heads = headShards(7, "float64", "cpu", cuts.columns);
    const batches = pipelineParts(micro, cuts.batches);
    const inputs = partsOf(whole, cuts.rows).map((part, r): Input => ({
      part,
      shard: shards[r]!,
      head: heads[r]!,
      batches: batches[r]!,
    }));
    const got = await valuesOfProcesses(mpi, inputs, PROGRAM);
    for (const [user, want] of Object.entries(expected)) {
      const found = joined(got.map(({ users }) => users[user]!));
      // toEqual tells 0 from -0 and knows no tolerance.
      expect({ user, ...found }).toEqual({ user, own: plain(want.own), shared: want.shared });
    }
    for (const { vocabulary } of got) expect(vocabulary.result).toEqual(together.result);
    expect(together.rows.map((__, n) => got.flatMap(({ vocabulary }) => vocabulary.rows[n]!))).toEqual(together.rows);
    // Sums over ids are cut by the shards.
    const near = { rtol: 1e-12, atol: 1e-12 };
    for (const { head } of got) {
      for (const name of ["logProbs", "entropies", "log1pSums", "meanGaps"] as const)
        expect(head.result[name]).toBeAllClose(oneHead.result[name], { rtol: 1e-12, atol: 0 });
      expect(head.gradients.gradHidden).toBeAllClose(oneHead.gradients.gradHidden, near);
    }
    const all = joinedHead(
      got.map(({ head }) => head),
      heads,
    );
    expect(all.gradWeight).toBeAllClose(joinedHead([oneHead], [wholeHead!]).gradWeight, near);
    expect(got.flatMap((one) => one.pipeline.batches)).toEqual(pipeline.batches);
    for (const one of got) expect(one.pipeline.runningMoments).toEqual(pipeline.runningMoments);
  });
});
