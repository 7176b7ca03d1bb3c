// A row of so many slices that one block sums and merges them in pages: none is overwritten before it has been merged, in whatever order
// the threads come.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { distFile } from "../../support/dist";
import { eachBackend } from "../../support/each-backend";
import { HANG_MS } from "../../support/hang";

/** What a device makes of three rows: one block each where it has few multiprocessors, several where it has many. */
function bitsIn(order: string, multiprocessors: number): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(__dirname, "pages.cjs"), distFile("index.js")], {
    env: {
      ...process.env,
      SURPRISAL_EMULATION_ORDER: order,
      SURPRISAL_EMULATION_MULTIPROCESSORS: String(multiprocessors),
    },
    encoding: "utf8",
    timeout: HANG_MS,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

eachBackend(() => {
  test("one block merges all pages of a row, whichever of its warps is ahead", () => {
    const wanted = bitsIn("forward", 132);
    for (const order of ["forward", "reverse", "random"]) expect([order, bitsIn(order, 1)]).toEqual([order, wanted]);
  });
}, ["emulated"]);
