// A shard: the part of a command line's rollouts that one of several processes computes.
import type { Collective } from "../../core/collective";

/** What a command sees of the part that it computes. Parts follow each other: part 0 has the first rollouts. */
export interface ShardView {
  /** All files of the command line; those that are read here stand in its arguments. */
  readonly files: readonly string[];
  /** Whether a rollout of a file that is read here belongs to the part; absent: all do. */
  readonly keeps: ((file: number, row: number) => boolean) | undefined;
  /** The parts that have rollouts, for a batch that lies on several of them. */
  readonly collective: Collective;
}
