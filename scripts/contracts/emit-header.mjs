// native/include/surprisal/ops.h: every op, in the order of the backend table, and the number by which both sides know that they
// were built from the same headers.
import { familiesOf } from "./names.mjs";

export function opsHeader({ ops }, hash, heading) {
  return `/* ${heading("native/include/surprisal")} */
/* clang-format off */
#ifndef SURPRISAL_OPS_H
#define SURPRISAL_OPS_H

${familiesOf(ops)
  .map((family) => `#include "surprisal/${family}.h"`)
  .join("\n")}

/* A hash of these headers. */
#define SRP_ABI 0x${hash}u

/* The ops, in the order of the table. */
#define SRP_FOR_EACH_OP(X) \\
${ops.map(({ name }) => `  X(${name})`).join(" \\\n")}

#endif
`;
}
