// The commands: one line each, in the order of the list that surprisal --help prints.
import { advantages } from "./advantages";
import { bench } from "./bench";
import { build } from "./build";
import { compare } from "./compare";
import { convert } from "./convert";
import { demo } from "./demo";
import { docs } from "./docs";
import { doctor } from "./doctor";
import { entropy } from "./entropy";
import { inspect } from "./inspect";
import { loss } from "./loss";
import { merge } from "./merge";
import { report } from "./report";
import { reward } from "./reward";
import { view } from "./view";
import type { Command } from "./shell/command";

export const COMMANDS: readonly Command[] = [
  doctor,
  inspect,
  advantages,
  entropy,
  loss,
  reward,
  convert,
  report,
  merge,
  compare,
  view,
  demo,
  bench,
  build,
  docs,
];
