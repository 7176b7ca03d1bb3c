// Two and three workers give the bits of one: every function that takes a collective, on every backend, against the same
// function on the whole batch without one.
import * as surprisal from "../../lib";
import { eachBackend } from "../support/each-backend";
import { valuesOfRanks } from "../support/run-ranks";
import { joined, plain } from "./joined";
import { everyUser, partsOf, wholeBatch } from "./users";

const ROWS = 11;
const CUTS: readonly (readonly number[])[] = [
  [0, 11],
  [0, 4, 11],
  [0, 3, 8, 11],
  [0, 6, 6, 11], // a worker without rows
];

eachBackend((backend) => {
  const whole = wholeBatch(5, ROWS, backend);
  const expected = everyUser(undefined, surprisal, whole);

  test.each(CUTS.map((cuts) => [cuts.join(", "), cuts] as const))("rows cut at %s", async (_, cuts) => {
    const got = await valuesOfRanks(partsOf(whole, cuts), everyUser, { chunkBytes: 256 });
    for (const [user, want] of Object.entries(expected)) {
      const found = joined(got.map((answers) => answers[user]!));
      // toEqual tells 0 from -0 and knows no tolerance.
      expect({ user, ...found }).toEqual({ user, own: plain(want.own), shared: want.shared });
    }
  });
});
