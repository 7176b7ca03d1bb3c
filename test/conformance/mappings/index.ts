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
import { verl202608Losses } from "../families/verl-2026-08/losses";
import { verl202608Advantages } from "../families/verl-2026-08/advantages";
import { skyrlLosses } from "../families/skyrl/losses";
import { skyrlAdvantages } from "../families/skyrl/advantages";
import { arealLosses } from "../families/areal/losses";
import { arealAdvantages } from "../families/areal/advantages";
import { slimeLosses } from "../families/slime/losses";
import { slimeAdvantages } from "../families/slime/advantages";
import { rollLosses } from "../families/roll/losses";
import { rollAdvantages } from "../families/roll/advantages";
import { primeRlLosses } from "../families/prime-rl/losses";
import { primeRlAdvantages } from "../families/prime-rl/advantages";
import { openInstructLosses } from "../families/open-instruct/losses";
import { openInstructAdvantages } from "../families/open-instruct/advantages";
import { nemoRlLosses } from "../families/nemo-rl/losses";
import { nemoRlAdvantages } from "../families/nemo-rl/advantages";

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
  ...verl202608Losses,
  ...verl202608Advantages,
  ...skyrlLosses,
  ...skyrlAdvantages,
  ...arealLosses,
  ...arealAdvantages,
  ...slimeLosses,
  ...slimeAdvantages,
  ...rollLosses,
  ...rollAdvantages,
  ...primeRlLosses,
  ...primeRlAdvantages,
  ...openInstructLosses,
  ...openInstructAdvantages,
  ...nemoRlLosses,
  ...nemoRlAdvantages,
]);
