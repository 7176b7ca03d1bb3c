// Every form against its definition (test/oracle/loss.ts): values, sums and counts, and the gradient against differences of
// values.
import fc from "fast-check";

import { lossGradient, lossOracle } from "../../oracle/loss";
import "../../support/all-close";
import { eachBackend } from "../../support/each-backend";
import { FORMS, MASKS, randomCase, run } from "./cases";

// Sums of up to 20 products of float64 numbers.
const exact = { rtol: 1e-12, atol: 1e-12 };
// Central differences of step 1e-6: rounding 1e-16 / 1e-6 on values up to some tens, and a term of third order of 1e-12.
const difference = { rtol: 1e-6, atol: 2e-8 };

const wishes = fc.record({
  layout: fc.constantFrom("padded" as const, "packed" as const),
  mask: fc.constantFrom(...MASKS),
});

eachBackend((backend) => {
  test.each(FORMS)("$name: values, sums and counts are those of the definition", (form) => {
    fc.assert(
      fc.property(fc.nat(1e6), wishes, (seed, asked) => {
        const loss = randomCase(seed, form, asked);
        const got = run(loss, backend);
        const want = lossOracle(loss, loss.options.logProbs, loss.options.logProbs);
        const once =
          got.losses.length !== loss.options.logProbs.length ||
          (form.kind === "row" && want.losses.every((v) => v === 0));
        expect(got.total).toBeAllClose(want.total, exact);
        expect(got.losses).toBeAllClose(
          once && got.losses.length === want.rowLosses.length ? want.rowLosses : want.losses,
          exact,
        );
        expect(got.klValues).toBeAllClose(want.kls, exact);
        expect([...got.clipped]).toEqual(want.clipped);
        const { rowFigures } = got;
        for (const name of ["kept", "terms", "loss", "kl", "logRatio", "below", "above", "outside"] as const)
          expect({ [name]: rowFigures[name] }).toBeAllClose({ [name]: want.rows.map((row) => row[name]) }, exact);
        // A row's one flag counts its tokens.
        const perRow = form.kind === "row" && (form.form === "clipOnce" || form.form === "squared");
        const counts = want.clipped.map((flag, k) => (perRow ? flag * Math.max(want.rows[k]!.kept, 1) : flag));
        expect(rowFigures.clipped.reduce((a, b) => a + b, 0)).toBe(counts.reduce((a, b) => a + b, 0));
      }),
      { seed: 7, numRuns: 40 },
    );
  });

  test.each(FORMS)("$name: the gradient is the derivative of the total", (form) => {
    fc.assert(
      fc.property(fc.nat(1e6), wishes, fc.boolean(), (seed, asked, kl) => {
        const loss = randomCase(seed, form, { ...asked, kl });
        expect(run(loss, backend).gradLogProbs).toBeAllClose(lossGradient(loss), difference);
      }),
      { seed: 8, numRuns: 40 },
    );
  });
});
