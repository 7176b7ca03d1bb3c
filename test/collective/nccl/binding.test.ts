// What TypeScript would not ask of the addon: calls without a library, and with what is no communicator.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type NcclAddon, type NcclRanks, nativeAddon } from "../../../lib/backend/addon";

const loaded = nativeAddon();
const why = "addon" in loaded ? "" : ` (skipped: ${loaded.reason})`;

(why === "" ? describe : describe.skip)(`NCCL through the binding${why}`, () => {
  const nccl = (loaded as { addon: NcclAddon }).addon;
  const none = [undefined, null, {}, 7, "ranks", nccl] as unknown as readonly NcclRanks[];

  test("without a library nothing begins, and the process lives", () => {
    // A process has one library for ever: this one has none.
    const program = `
      const nccl = require("node-gyp-build")(process.argv[1]);
      console.log(JSON.stringify([
        nccl.ncclOpen(7), nccl.ncclOpen("libsurprisal-is-not-nccl.so"),
        nccl.ncclUniqueId(), nccl.ncclJoin(1, new Uint8Array(128), 1, 0),
      ]));`;
    const root = join(__dirname, "../../..");
    const { stdout, status } = spawnSync(process.execPath, ["-e", program, root], { cwd: root, encoding: "utf8" });
    expect(status).toBe(0);
    const unopened = "no library of NCCL has been opened";
    const missing = expect.stringContaining("libsurprisal-is-not-nccl.so") as string;
    expect(JSON.parse(stdout)).toEqual(["the name of a library is text", missing, unopened, unopened]);
  });

  test.each(none.map((one, i) => [i, one] as const))("what is no communicator: %#", (_, ranks) => {
    expect(nccl.ncclTest(ranks, null)).toMatch(/no communicator/);
    expect(nccl.ncclWait(ranks, null, NaN)).toMatch(/no communicator/);
    expect(nccl.ncclFinalize(ranks)).toMatch(/no communicator/);
    nccl.ncclDestroy(ranks);
    nccl.ncclAbort(ranks);
    const array = {} as never;
    expect(nccl.ncclGather(1, ranks, array, array)).not.toBe(0);
    expect(nccl.ncclBroadcast(1, ranks, array, array, 0)).not.toBe(0);
  });
});
