"use strict";

// While a test waits for a program by a call that blocks, no time limit of jest's can end it.

/** As HANG_MS in hang.ts; npm run test:long has programs that take hours. */
const LIMIT_MS = process.env.SURPRISAL_LONG ? 0 : 10 * 60_000;

/** A function of node:child_process that blocks, with a limit where its caller sets none. */
const limited =
  (start, timeout = LIMIT_MS) =>
  (...args) => {
    const at = args.findIndex((arg, i) => i > 0 && typeof arg === "object" && arg !== null && !Array.isArray(arg));
    if (at < 0) args.push({ timeout });
    else args[at] = { ...args[at], timeout: args[at].timeout ?? timeout };
    return start(...args);
  };

/** For the whole process, once. */
function limitPrograms(childProcess) {
  for (const name of ["execSync", "execFileSync", "spawnSync"]) childProcess[name] = limited(childProcess[name]);
}

module.exports = { limited, limitPrograms };
