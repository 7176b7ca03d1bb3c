// Weights of the items of a group, and their entropy (contract: native/include/surprisal/group.h).
import {
  type GroupEntropyArgs,
  type GroupSoftmaxArgs,
  type GroupTiltArgs,
  type GroupWeighArgs,
  WEIGH_FORMS,
} from "../contract/group";
import { eachItem } from "./group-items";

const POWER = WEIGH_FORMS.indexOf("power");

/** What exp((x - shift) / temperature) is, and at temperature 0 its limit: the largest numbers have 1 each. */
function softmaxTerm(x: number, shift: number, temperature: number): number {
  if (temperature > 0) return Math.exp((x - shift) / temperature);
  return Number.isNaN(x) ? NaN : x > shift ? Infinity : x === shift ? 1 : 0;
}

/** An infinite largest number can't be shifted by; a group with +infinity has an infinite sum and no weights. */
const shiftOf = (largest: number): number => (Number.isFinite(largest) ? largest : 0);
const weightOf = (term: number, sum: number): number => (sum === Infinity ? NaN : term / sum);

export function groupSoftmax(a: GroupSoftmaxArgs): void {
  for (let g = 0; g < a.G; ++g) {
    let largest = -Infinity;
    eachItem(a, g, (i) => {
      if (a.values[i]! > largest) largest = a.values[i]!; // passes over NaN; the sum does not
    });
    const shift = shiftOf(largest);
    const term = (i: number): number => softmaxTerm(a.values[i]!, shift, a.temperature);
    let sum = 0;
    eachItem(a, g, (i) => (sum += term(i)));
    const { weights } = a;
    const count = a.offsets[g + 1]! - a.offsets[g]!;
    const floor = Math.min(a.floor, 1 / count);
    // Mixed with the uniform weights. In this form a group of one and uniform weights stay what they are, exactly.
    const mixed = (weight: number): number => weight + floor * (1 - count * weight);
    if (weights) eachItem(a, g, (i) => (weights[i] = mixed(weightOf(term(i), sum))));
    if (a.logSumExps) a.logSumExps[g] = shift / a.temperature + Math.log(sum);
    if (a.softMeans) a.softMeans[g] = shift + a.temperature * Math.log(sum / count);
  }
}

export function groupTilt(a: GroupTiltArgs): void {
  const factors = a.coefficient === 0 ? null : a.logFactors;
  const exponent = (i: number): number =>
    Math.log(Math.max(a.values[i]!, a.least)) + (factors ? a.coefficient * factors[i]! : 0);
  const count = (i: number): number => (a.counts ? Math.max(a.counts[i]!, 1) : 1);
  for (let g = 0; g < a.G; ++g) {
    let largest = -Infinity;
    eachItem(a, g, (i) => {
      const z = exponent(i);
      if (z > largest) largest = z;
    });
    const shift = shiftOf(largest);
    const term = (i: number): number => softmaxTerm(exponent(i), shift, a.temperature) * count(i);
    let sum = 0;
    eachItem(a, g, (i) => (sum += term(i)));
    eachItem(a, g, (i) => (a.weights[i] = weightOf(term(i), sum)));
  }
}

export function groupEntropy(a: GroupEntropyArgs): void {
  const normalized = a.normalize !== 0;
  const raised = (i: number): number => Math.max(a.values[i]!, a.least);
  const term = (x: number, inside: number): number => (x === 0 ? 0 : -x * Math.log(inside));
  for (let g = 0; g < a.G; ++g) {
    let sum = 0;
    let entropy = 0;
    if (normalized) eachItem(a, g, (i) => (sum += raised(i)));
    eachItem(a, g, (i) => {
      const share = raised(i) / sum;
      entropy += normalized ? term(share, share) : term(a.values[i]!, raised(i));
    });
    const count = a.offsets[g + 1]! - a.offsets[g]!;
    if (a.entropies) a.entropies[g] = entropy;
    if (a.evennesses) a.evennesses[g] = count < 2 ? (Number.isNaN(entropy) ? NaN : 0) : entropy / Math.log(count);
  }
}

export function groupWeigh(a: GroupWeighArgs): void {
  for (let g = 0; g < a.G; ++g) {
    let low = Infinity;
    let high = -Infinity;
    eachItem(a, g, (i) => {
      if (a.values[i]! < low) low = a.values[i]!;
      if (a.values[i]! > high) high = a.values[i]!;
    });
    eachItem(a, g, (i) => {
      const x = a.values[i]!;
      const weight = a.form === POWER ? Math.abs(x) ** a.power : x === high ? a.atMax : x === low ? a.atMin : a.between;
      a.weights[i] = Number.isNaN(x) ? NaN : weight + a.floor;
    });
  }
}
