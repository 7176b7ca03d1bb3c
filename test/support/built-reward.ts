// surprisal/reward as it is built: its workers and processes run compiled files.
import { createRequire } from "node:module";
import { join } from "node:path";
import type * as reward from "../../lib/reward";

export const built = createRequire(__filename)(join(__dirname, "..", "..", "dist", "reward")) as typeof reward;
