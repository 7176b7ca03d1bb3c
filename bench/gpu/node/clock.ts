// Time on a device: calls recorded into a graph, which is launched between two events of one stream.
import type { Graph, Stream } from "../../../lib/core/stream";

/** Calls of one contender that are timed together. */
export interface Backlog {
  readonly calls: number;
  readonly graph: Graph;
}

/** Of calls in one graph. */
const MOST_CALLS = 2000;

/** Milliseconds of the device for what `work` asks of the stream. */
function span(stream: Stream, work: () => void): number {
  const begin = stream.record();
  work();
  const end = stream.record();
  stream.sync();
  return end.since(begin);
}

/**
 * A graph of calls in turn, each of `runs` as often as the others, that takes about `milliseconds`. All of them have run before.
 */
export function recordBacklog(stream: Stream, runs: readonly (() => void)[], milliseconds: number): Backlog {
  const once = () => runs.forEach((run) => run());
  span(stream, once);
  const turns = Math.ceil(milliseconds / Math.max(span(stream, once), 1e-3));
  const most = Math.max(1, Math.floor(MOST_CALLS / runs.length));
  const calls = runs.length * Math.max(1, Math.min(most, turns));
  const graph = stream.capture(() => {
    for (let i = 0; i < calls; ++i) runs[i % runs.length]!();
  });
  span(stream, () => graph.launch());
  return { calls, graph };
}

/** Seconds of one call. */
export function secondsOf(stream: Stream, { calls, graph }: Backlog): number {
  return span(stream, () => graph.launch()) / 1e3 / calls;
}
