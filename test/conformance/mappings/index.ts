// Every mapping there is. A golden function without one counts as not implemented.
import { mappingTable } from "../mapping";
import { egpo } from "./egpo";
import { empg } from "./empg";
import { gspo } from "./gspo";
import { lightrft } from "./lightrft";
import { logits } from "./logits";
import { maxent } from "./maxent";
import { openrlhf } from "./openrlhf";
import { pufferlib } from "./pufferlib";
import { trl } from "./trl";
import { verl } from "./verl";

export const mappings = mappingTable([
  ...empg,
  ...egpo,
  ...gspo,
  ...logits,
  ...lightrft,
  ...maxent,
  ...openrlhf,
  ...pufferlib,
  ...trl,
  ...verl,
]);
