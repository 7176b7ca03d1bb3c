// Rows of one slice or two: of many of them a warp takes several, and copies the next ones while it sums. The bits are those of a warp or
// two a row, in whatever order the threads come.
import { eachBackend } from "../../support/each-backend";
import { printedOnDevice } from "./on-device";

eachBackend(() => {
  // 61 rows are many for one multiprocessor, and few for 132.
  test("a row among those of its warp has the bits that it has alone", () => {
    const wanted = printedOnDevice("short-rows.cjs", "forward", 132).split("\n");
    for (const order of ["forward", "reverse", "random"])
      expect(printedOnDevice("short-rows.cjs", order, 1).split("\n")).toEqual(wanted);
  });
}, ["emulated"]);
