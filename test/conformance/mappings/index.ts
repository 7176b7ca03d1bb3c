// Every mapping there is. A golden function without one counts as not implemented.
import { mappingTable } from "../mapping";
import { control } from "./control";
import { correction } from "./correction";
import { egpo } from "./egpo";
import { empg } from "./empg";
import { gspo } from "./gspo";
import { lightrft } from "./lightrft";
import { lightrftAdvantage } from "./lightrft-advantage";
import { logits } from "./logits";
import { masks } from "./masks";
import { maxent } from "./maxent";
import { metrics } from "./metrics";
import { openrlhf } from "./openrlhf";
import { openrlhfAdvantage } from "./openrlhf-advantage";
import { pufferlib } from "./pufferlib";
import { reductions } from "./reductions";
import { shaping } from "./shaping";
import { trl } from "./trl";
import { trlAdvantage } from "./trl-advantage";
import { verl } from "./verl";
import { verlAdvantage } from "./verl-advantage";
import { openrlhfLoss } from "./openrlhf-loss";
import { lightrftLoss } from "./lightrft-loss";
import { verlLoss } from "./verl-loss";
import { trlLoss } from "./trl-loss";
import { distillation } from "./distillation";
import { maxentControl } from "./maxent-control";
import { rewards } from "./rewards";
import { experience } from "./experience";

export const mappings = mappingTable([
  ...control,
  ...empg,
  ...egpo,
  ...gspo,
  ...logits,
  ...lightrft,
  ...lightrftAdvantage,
  ...masks,
  ...maxent,
  ...metrics,
  ...openrlhf,
  ...openrlhfAdvantage,
  ...pufferlib,
  ...reductions,
  ...shaping,
  ...trl,
  ...trlAdvantage,
  ...verl,
  ...verlAdvantage,
  ...openrlhfLoss,
  ...lightrftLoss,
  ...verlLoss,
  ...trlLoss,
  ...correction,
  ...distillation,
  ...maxentControl,
  ...rewards,
  ...experience,
]);
