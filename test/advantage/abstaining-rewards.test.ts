// A reward function that has no opinion gives NaN: with nan "abstain" the others are compared as if that row were not there.
import { type AdvantageName, computeAdvantages } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const [B, T] = [12, 5];
const random = rng(31);
const rewards = Float64Array.from(random.normal(B));
const abstains = (b: number): boolean => b === 2 || b === 7 || b === 11;
const given = rewards.map((r, b) => (abstains(b) ? NaN : r));
const groups = Array.from(rewards, (_, b) => Math.floor(b / 4));
const mask = random.mask(B * T, 0.7).fill(1, 0, B);
const rows = Array.from(rewards.keys());
const others = rows.filter((b) => !abstains(b));

const compare = computeAdvantages as unknown as (
  name: AdvantageName,
  batch: object,
  options: object,
) => { readonly advantages: Float64Array; readonly rowAdvantages: Float64Array };

eachBackend((backend) => {
  test.each(["grpo", "passAtK", "rloo", "opo", "gpg", "reinforcePlusPlusBaseline", "cpgd"] as const)("%s", (name) => {
    const cut = <A extends Float64Array | Uint8Array>(array: A): A =>
      array.filter((_: number, i: number) => !abstains(Math.floor(i / T))) as A;
    const batch = name === "cpgd" ? {} : { groups };
    const short = name === "cpgd" ? {} : { groups: others.map((b) => groups[b]!) };
    const want = compare(
      name,
      { ...short, rewards: Float64Array.from(others, (b) => rewards[b]!), shape: [others.length, T], mask: cut(mask) },
      { backend },
    );
    const got = compare(name, { ...batch, rewards: given, shape: [B, T], mask }, { nan: "abstain", backend });
    expect(Float64Array.from(others, (b) => got.rowAdvantages[b]!)).toBeAllClose(want.rowAdvantages, { atol: 1e-14 });
    expect(cut(got.advantages)).toBeAllClose(want.advantages, { atol: 1e-13 });
    for (const b of rows.filter(abstains)) {
      expect(got.rowAdvantages[b]).toBe(0);
      expect(Array.from(got.advantages.subarray(b * T, (b + 1) * T))).toEqual(new Array(T).fill(0));
    }
    const spread = compare(name, { ...batch, rewards: given, shape: [B, T], mask }, { backend });
    expect(spread.rowAdvantages[0]).toBeNaN();
  });
});
