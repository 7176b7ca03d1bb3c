// Sampling weights of items, from their size or their rank in the group.
import { WEIGH_FORMS } from "../../backend/contract/group";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { outputOr } from "../../core/arrays";
import type { CollectiveOption } from "../../core/collective";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { allocateFloat, floatDType } from "../../core/float-arrays";
import type { GroupLayout, NamedGroups } from "../../core/groups";
import type { AnyFloatArray, Anywhere } from "../../core/on-device";
import { needNumber, needWord } from "../../core/option-checks";
import { gatherItems, itemArgs, needItems, refuseItemOverlap } from "./items";

takesDeviceArrays("groupWeigh");

/** What a weight is made of. */
export type WeighForm =
  /** |x|^power. */
  | { readonly form: "power"; readonly power: number }
  /** One number for the largest of a group, one for its smallest, one for the rest. Equal extremes count as largest. */
  | { readonly form: "extremes"; readonly atMax: number; readonly atMin: number; readonly between: number };

export interface GroupWeighOptions extends GroupLayout, BackendOption, CollectiveOption {
  /** Added to every weight. Default 0. */
  readonly floor?: number;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly weights?: FloatArray };
}

/** The same on a device, where the first array lies. */
export function groupWeigh(
  values: DeviceFloatArray,
  form: WeighForm,
  options: Anywhere<GroupWeighOptions & NamedGroups>,
): DeviceFloatArray;
/**
 * A weight per item: |x|^power + floor, or floor plus a constant by whether the item is its group's largest or smallest.
 * NaN items have weight NaN and are no extreme.
 *
 * @param values one number per item
 * @param options `groups` (a label per item, or `"all"`) or `groupOffsets`
 * @throws SurprisalError as `groupNormalize`
 */
export function groupWeigh(values: FloatArray, form: WeighForm, options: GroupWeighOptions & NamedGroups): FloatArray;
export function groupWeigh(
  values: AnyFloatArray,
  form: WeighForm,
  anywhere: GroupWeighOptions | Anywhere<GroupWeighOptions>,
): AnyFloatArray {
  const options = anywhere as GroupWeighOptions;
  const op = "groupWeigh";
  const stream = streamOf(op, options, values);
  const items = needItems(op, "values", values, options);
  const byPower = form.form === "power";
  const dtype = floatDType(items.values);
  const { length } = items.values;
  const weights = outputOr(op, "weights", options.out?.weights, dtype, length, stream);
  refuseItemOverlap(op, options.out, { weights }, items.values, options);
  const numbers = {
    form: needWord(op, "form", form.form, WEIGH_FORMS),
    power: byPower ? needNumber(op, "power", form.power, { min: 0 }) : 1,
    atMax: byPower ? 0 : needNumber(op, "atMax", form.atMax),
    atMin: byPower ? 0 : needNumber(op, "atMin", form.atMin),
    between: byPower ? 0 : needNumber(op, "between", form.between),
    floor: needNumber(op, "floor", options.floor ?? 0),
  };
  const all = gatherItems(op, options.collective, items);
  const found = options.collective ? allocateFloat(dtype, all.values.length) : weights;
  selectBackend(op, options.backend, stream).ops.groupWeigh({ weights: found, ...itemArgs(all), ...numbers });
  if (found !== weights) weights.set(found.subarray(all.begin, all.end));
  return weights;
}
