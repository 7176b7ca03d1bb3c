// What the page was given, as lib/report/html/token-data.ts writes it.

/** @typedef {(number | null)[]} Column */
/**
 * @typedef {object} PageSpan
 * @property {number} begin
 * @property {number} finish
 * @property {string} label
 * @property {number | null} [entropy]
 * @property {number | null} [scale]
 * @property {number | null} [clarity]
 * @property {number | null} [before]
 * @property {number | null} [after]
 */
/**
 * @typedef {object} PageRollout
 * @property {number} index
 * @property {string} group
 * @property {number | null} reward
 * @property {string} finish
 * @property {string} prompt
 * @property {number} total
 * @property {string} text
 * @property {number[]} pieces
 * @property {number[]} [ids]
 * @property {number[]} [masked]
 * @property {Column} [logProbs]
 * @property {Column} [sampler]
 * @property {Column} [entropies]
 * @property {Column} [advantages]
 * @property {Column} [ratios]
 * @property {number[]} [clipped]
 * @property {PageSpan[]} spans
 */
/**
 * @typedef {object} PageData
 * @property {string[]} pieces
 * @property {number[]} breaks
 * @property {{ label: string, rollouts: PageRollout[] }[]} steps
 * @property {{ nats: number, advantage: number }} scales
 */

/** @type {PageData} */
const pageData = JSON.parse(byId("report-data").textContent ?? "");

const HEAT_LEVELS = 10;

/** Nats → the number of a colour. @param {number | null | undefined} nats */
function heatLevel(nats) {
  if (nats === null || nats === undefined) return 0;
  return Math.max(0, Math.min(HEAT_LEVELS - 1, Math.floor((nats / pageData.scales.nats) * HEAT_LEVELS)));
}

/** What the background of a token shows, nats. @param {PageRollout} rollout @param {number} token @param {string} heat */
function heatOf(rollout, token, heat) {
  if (heat === "entropy") return rollout.entropies?.[token];
  const logProb = rollout.logProbs?.[token];
  return logProb === null || logProb === undefined ? logProb : -logProb;
}

/** The span that holds a token, by bisection; -1 for none. @param {PageRollout} rollout @param {number} token */
function spanAt({ spans }, token) {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].finish <= token) low = middle + 1;
    else high = middle;
  }
  return low < spans.length && spans[low].begin <= token ? low : -1;
}

/** A span in words: its entropy, and its weight before and after. @param {PageSpan} span */
function spanFacts({ entropy, scale, before, after }) {
  const facts = [];
  if (entropy !== undefined) facts.push(`step entropy ${written(entropy)} nats`);
  if (before !== undefined && after !== undefined) facts.push(`weight ${signed(before)} → ${signed(after)}`);
  if (scale !== undefined) facts.push(`scale ×${written(scale)}`);
  return facts;
}
