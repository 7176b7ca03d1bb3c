// What a dialect is: how to tell its records, and how to read one.
import type { Dialect } from "../read-options";
import type { JsonObject } from "../fields";
import type { Place } from "../place";
import type { Rollout } from "../record";

export interface DialectReader {
  readonly name: Dialect;
  /** Whether a record is spelled this way, by its fields alone. */
  matches(record: JsonObject): boolean;
  /** Which field the reward is read from, where that is not `reward`. */
  rewardField?(record: JsonObject): string | undefined;
  /**
   * The rollouts of one record; several where it holds several completions. `request` is what was asked, where the log has it.
   *
   * @throws SurprisalError ERR_SURPRISAL_FILE naming file, line and field
   */
  read(at: Place, record: JsonObject, request?: JsonObject): Rollout[];
}
