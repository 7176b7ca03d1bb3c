// A row of so many slices that one block sums and merges them in pages: none is overwritten before it has been merged, in whatever order
// the threads come.
import { eachBackend } from "../../support/each-backend";
import { printedOnDevice } from "./on-device";

eachBackend(() => {
  // One block a row where the device has few multiprocessors, several where it has many.
  test("one block merges all pages of a row, whichever of its warps is ahead", () => {
    const wanted = printedOnDevice("pages.cjs", "forward", 132);
    for (const order of ["forward", "reverse", "random"])
      expect([order, printedOnDevice("pages.cjs", order, 1)]).toEqual([order, wanted]);
  });
}, ["emulated"]);
