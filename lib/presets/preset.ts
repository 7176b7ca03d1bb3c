// What a preset is: for each function, the options in which a source differs from the defaults. Data only.
import type { KlPenaltyConventions } from "../loss/kl-penalty";
import type { CispoLossConventions } from "../loss/policy/cispo-loss";
import type { GmpoLossConventions } from "../loss/policy/gmpo-loss";
import type { GspoLossConventions } from "../loss/policy/gspo-loss";
import type { PolicyLossConventions } from "../loss/policy/options";
import type { BypassLossConventions } from "../loss/policy/bypass-loss";
import type { PpoLossConventions } from "../loss/policy/ppo-loss";
import type { SapoLossConventions } from "../loss/policy/sapo-loss";
import type { VespoLossConventions } from "../loss/policy/vespo-loss";
import type { ValueLossConventions } from "../loss/value-loss";
import type { RolloutConventions } from "../loss/correction";
import type { GroupConventions } from "../ops/group";
import type { WhitenConventions } from "../ops/reduce";
import type { LoadControllersConventions, MetaUpdateConventions, SaveControllersConventions } from "./controller-conventions";
import type { EdgeGrpoConventions, EgpoConventions, EmpgConventions } from "./entropy-conventions";
import type { HighEntropyConventions } from "./mask-conventions";
import type {
  ListwiseWeightConventions,
  ReferenceConventions,
  RewardStatisticsConventions,
  RewardTotalConventions,
  SemanticEntropyConventions,
} from "./maxent-conventions";
import type { HybridConventions, PlacementConventions } from "./hybrid-conventions";
import type { EstimateConventions, GroupShapingConventions, PipelineConventions } from "./pipeline-conventions";
import type {
  BaselineConventions,
  PassAtKConventions,
  TokenBaselineConventions,
  WhitenedBaselineConventions,
  WhitenedScanConventions,
} from "./estimator-conventions";
import type { MiniLlmConventions, MultiRewardConventions, PpoConventions, RlooConventions } from "./reward-conventions";
import type { KlShapedRewardConventions, OverlongConventions } from "./shaping-conventions";

/** Options by public function. A function that is absent has no conventions of its own in that source. */
export interface Preset {
  readonly groupAdvantage?: GroupConventions;
  readonly empgAdvantage?: EmpgConventions;
  readonly egpoAdvantage?: EgpoConventions;
  readonly edgeGrpoAdvantage?: EdgeGrpoConventions;
  readonly gaeAdvantage?: WhitenedScanConventions;
  readonly reinforcePlusPlusAdvantage?: WhitenedScanConventions;
  readonly reinforcePlusPlusBaselineAdvantage?: WhitenedBaselineConventions;
  readonly leaveOneOutAdvantage?: BaselineConventions;
  readonly opoAdvantage?: BaselineConventions;
  readonly gpgAdvantage?: BaselineConventions;
  readonly passAtKAdvantage?: PassAtKConventions;
  readonly optimalTokenBaselineAdvantage?: TokenBaselineConventions;
  readonly multiRewardAdvantage?: MultiRewardConventions;
  readonly rlooAdvantage?: RlooConventions;
  readonly ppoAdvantage?: PpoConventions;
  readonly miniLlmAdvantage?: MiniLlmConventions;
  readonly shapeGroupRewards?: GroupShapingConventions;
  readonly estimateAdvantages?: EstimateConventions;
  readonly advantagePipeline?: PipelineConventions;
  readonly klShapedReward?: KlShapedRewardConventions;
  readonly overlongPenalty?: OverlongConventions;
  readonly highEntropyMask?: HighEntropyConventions;
  readonly ppoLoss?: PpoLossConventions;
  readonly gspoLoss?: GspoLossConventions;
  readonly gspoTokenLoss?: GspoLossConventions;
  readonly gmpoLoss?: GmpoLossConventions;
  readonly cispoLoss?: CispoLossConventions;
  readonly sapoLoss?: SapoLossConventions;
  readonly vespoLoss?: VespoLossConventions;
  readonly luspoLoss?: PolicyLossConventions & { readonly emptyRows?: "skip" | "count" };
  readonly rlooLoss?: PolicyLossConventions & { readonly emptyRows?: "skip" | "count" };
  readonly reinforceLoss?: PolicyLossConventions;
  readonly clipCovLoss?: PolicyLossConventions;
  readonly klCovLoss?: PolicyLossConventions;
  readonly cpgdLoss?: PolicyLossConventions;
  readonly klPenalty?: KlPenaltyConventions;
  readonly valueLoss?: ValueLossConventions;
  readonly rolloutWeights?: RolloutConventions;
  readonly rolloutRejectionMask?: RolloutConventions;
  readonly mismatchMetrics?: RolloutConventions;
  readonly rolloutCorrection?: RolloutConventions;
  readonly rewardTotals?: RewardTotalConventions;
  readonly splitReferenceLogProbs?: ReferenceConventions;
  readonly splitReferenceTokenCounts?: ReferenceConventions;
  readonly listwiseWeights?: ListwiseWeightConventions;
  readonly semanticEntropyScales?: SemanticEntropyConventions;
  readonly rewardStatistics?: RewardStatisticsConventions;
  readonly whitenAdvantages?: WhitenConventions;
  readonly bypassLoss?: BypassLossConventions;
  readonly updateMaxentMeta?: MetaUpdateConventions;
  readonly saveControllers?: SaveControllersConventions;
  readonly loadControllers?: LoadControllersConventions;
  readonly hybridReward?: HybridConventions;
  readonly placeRewards?: PlacementConventions;
}

/** A function that presets know. */
export type PresetFunction = keyof Preset;
