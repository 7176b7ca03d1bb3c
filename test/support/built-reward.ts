// surprisal/reward as it is built: its workers and processes run compiled files.
import { createRequire } from "node:module";
import { distFile } from "./dist";
import type * as reward from "../../lib/reward";

export const built = createRequire(__filename)(distFile("reward")) as typeof reward;
