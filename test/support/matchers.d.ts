// What all-close.ts adds to expect().
import type { Tolerance } from "./close";

declare global {
  namespace jest {
    interface Matchers<R> {
      /** |got - want| <= atol + rtol * |want| everywhere; NaN equals NaN, infinities equal themselves. */
      toBeAllClose(want: unknown, tolerance: Tolerance): R;
    }
  }
}
