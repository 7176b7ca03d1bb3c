// A command that several processes can share: what each does with its own rollouts, and what is made of all parts together. One
// process alone does both, one after the other.
import type { Rollout } from "../../io";
import type { Answer, Call, Command } from "../shell/command";

/** What a part leaves. */
export interface Work<Data> {
  /** Plain data: it may wait in a file for the other parts. Of rollouts that come one after the other it is whole behind the last. */
  readonly data: Data;
  /** For the output of rollouts. */
  readonly rollouts?: readonly Rollout[] | AsyncIterable<Rollout>;
}

/** The rollouts of all parts, in order. */
export interface Rows {
  /** undefined: it is known when they have all come. */
  readonly total: number | undefined;
  readonly rollouts: Iterable<Rollout> | AsyncIterable<Rollout>;
  /** The same as JSON Lines, where they lie in files already. */
  readonly lines?: AsyncIterable<Uint8Array>;
}

export interface Steps<Place = unknown, Data = unknown> {
  /** Answers without this work, such as --list. */
  early?(call: Call): Answer | Promise<Answer> | undefined;
  /** Refuses what is wrong in the command line, and reserves places for the outputs. */
  reserve(call: Call): Promise<Place>;
  work(call: Call): Promise<Work<Data>>;
  /** @param data of the parts, in order; whole where `rows` have been taken */
  finish(call: Call, place: Place, data: readonly Data[], rows: Rows): Promise<Answer>;
}

/** A command whose work can be shared. */
export interface SharedCommand extends Command {
  readonly steps: Steps;
}

/** Takes all rollouts where nobody else does. */
export async function taken(rollouts: Rows["rollouts"]): Promise<void> {
  for await (const _ of rollouts);
}

/** The whole work in this process. */
export async function runWhole(steps: Steps, call: Call): Promise<Answer> {
  const place = await steps.reserve(call);
  const { data, rollouts = [] } = await steps.work(call);
  const total = "length" in rollouts ? rollouts.length : undefined;
  return steps.finish(call, place, [data], { total, rollouts });
}
