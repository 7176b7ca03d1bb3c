// Scalars by step, as loggers take them.
import { scalarsOf } from "../scalars";
import type { Summary } from "../summary";

/** One step of a run: `_step` and each scalar that the step has. */
export type ScalarRow = Readonly<Record<string, number>> & { readonly _step: number };

/**
 * Returns one row a step, in the form of the history of Weights & Biases: `run.log(row, step=row["_step"])`. Names as in the table
 * "steps" of `reportTables`; what a step does not have is absent.
 */
export function scalarRows({ steps }: Summary): ScalarRow[] {
  const scalars = scalarsOf(steps);
  return steps.map((step) => ({
    _step: step.step,
    ...Object.fromEntries(
      scalars.flatMap(({ name, value }) => {
        const known = value(step);
        return known === null ? [] : [[name, known] as const];
      }),
    ),
  }));
}
