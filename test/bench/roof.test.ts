// The loops that stand for memory: they move what they claim to move. Nothing here is timed.
import { findCompiler, loadRoof, type Roof } from "../../bench/roof/roof";
import { rng } from "../support/rng";

const compiler = findCompiler();
if (!compiler) console.warn("no C++ compiler: the roofs of the bench are not tested");
/** All but the first and the last number. */
const bytes = (array: Float32Array, n: number): Buffer => Buffer.from(array.buffer, 4, 4 * n);

const compiled = compiler ? describe : describe.skip;

compiled("roofs", () => {
  let roof: Roof;
  beforeAll(() => {
    roof = loadRoof();
  });

  // Unaligned, shorter than one turn of the loop, no multiple of a vector, and larger than both.
  test.each([
    [3, 1],
    [1000, 2],
    [4099, 1],
    [70_001, 3],
  ])("%d numbers on %d threads arrive, and arrive nowhere else", (n, threads) => {
    const source = rng(1).f32(n + 2);
    for (const copy of ["copy", "copyStreamed"] as const) {
      const target = new Float32Array(n + 2).fill(7);
      roof[copy](target.subarray(1, n + 1), source.subarray(1, n + 1), threads);
      expect(Buffer.compare(bytes(target, n), bytes(source, n))).toBe(0);
      expect([target[0], target[n + 1]]).toEqual([7, 7]);
    }
  });

  test("a rewrite leaves every bit, NaN and all", () => {
    const bits = Uint32Array.from({ length: 5003 }, (_, i) => Math.imul(i, 0x9e3779b9));
    const before = bits.slice();
    roof.rewrite(bits, 2);
    roof.read([bits], 2);
    expect(bits).toEqual(before);
  });

  test("two sizes are refused", () => {
    expect(() => roof.copy(new Uint8Array(4), new Uint8Array(5), 1)).toThrow("two sizes");
  });

  test("a spin takes steps in proportion to the time asked for", () => {
    const [short, long] = [roof.stepsIn(1), roof.stepsIn(10)];
    expect(long).toBeCloseTo(10 * short, -2);
    roof.spin(short, 2);
  });
});
