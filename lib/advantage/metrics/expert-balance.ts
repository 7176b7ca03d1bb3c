// How evenly the router of a mixture of experts spreads tokens.
import { needIds, optionalMask, type TokenIds } from "../../core/arrays";
import { needNumber } from "../../core/option-checks";
import { needRows, rowBegin, rowEnd, type RowLayout } from "../../core/row-layout";
import { average } from "../scalar-metrics";
import type { MetricRecord } from "./metric-record";

export interface ExpertBalanceOptions extends RowLayout {
  /** Experts of a layer, >= 1: ids are below. */
  readonly experts: number;
  /** Layers that route. */
  readonly layers: number;
  /** Experts that a token is sent to in each layer. */
  readonly choices: number;
  /** 1 = a token of the response. Default: all 1. The last one of each row is not counted: it was not fed back. */
  readonly mask?: Uint8Array;
}

/**
 * How far the load of each expert is from even: with the share of a layer's choices that went to an expert, violation = share · experts −
 * 1. `rollout/moe/max_vio/layer_l`, `min_vio`, `avg_vio` (mean of |violation|), then `…/max` and `…/avg` over layers.
 *
 * @param routed expert ids, [n, layers, choices] with n as `shape` or `offsets` say
 * @returns no metrics where no token counts, or where an id is none of the experts
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function expertBalance(routed: TokenIds, options: ExpertBalanceOptions): MetricRecord {
  const op = "expertBalance";
  const rows = needRows(op, options);
  const positive = { min: 1, integer: true } as const;
  const experts = needNumber(op, "experts", options.experts, positive);
  const layers = needNumber(op, "layers", options.layers, positive);
  const choices = needNumber(op, "choices", options.choices, positive);
  const ids = needIds(op, "routed", routed, rows.n * layers * choices, "tokens * layers * choices");
  const mask = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const loads = Array.from({ length: layers }, () => new Float64Array(experts));
  let counted = 0;
  for (let b = 0; b < rows.B; ++b) {
    let last = rowEnd(rows, b) - 1;
    while (last >= rowBegin(rows, b) && mask?.[last] === 0) --last;
    for (let i = rowBegin(rows, b); i < last; ++i) {
      if (mask?.[i] === 0) continue;
      ++counted;
      for (let k = 0; k < layers * choices; ++k) {
        const id = ids[i * layers * choices + k]!;
        if (id < 0 || id >= experts) return {};
        ++loads[Math.floor(k / choices)]![id]!;
      }
    }
  }
  if (counted === 0) return {};
  const even = (counted * choices) / experts;
  const violations = loads.map((load) => Array.from(load, (count) => count / even - 1));
  const figures = {
    max_vio: violations.map((of) => Math.max(...of)),
    min_vio: violations.map((of) => Math.min(...of)),
    avg_vio: violations.map((of) => average(of.map(Math.abs))),
  };
  const metrics: Record<string, number> = {};
  for (const [name, perLayer] of Object.entries(figures)) {
    perLayer.forEach((x, layer) => (metrics[`rollout/moe/${name}/layer_${layer}`] = x));
    metrics[`rollout/moe/${name}/max`] = Math.max(...perLayer);
    metrics[`rollout/moe/${name}/avg`] = average(perLayer);
  }
  return metrics;
}
