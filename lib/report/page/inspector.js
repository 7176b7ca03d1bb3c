// All that is known of one token.

const CLIPPED = new Map([
  [1, "above"],
  [-1, "below"],
  [0, "no"],
]);

/** @param {PageRollout} rollout @param {number} token */
function clippedWord(rollout, token) {
  const flag = rollout.clipped?.[token];
  return flag === undefined ? undefined : CLIPPED.get(flag);
}

/** What a screen reader says of a token. @param {PageRollout} rollout @param {number} token */
function tokenInWords(rollout, token) {
  const { entropies, logProbs, advantages, ratios, masked } = rollout;
  const parts = [`“${pageData.pieces[rollout.pieces[token]]}”`];
  const span = rollout.spans[spanAt(rollout, token)];
  if (span?.begin === token) parts.push(`begins ${span.label}`, ...spanFacts(span));
  if (masked?.[token]) parts.push("not the policy's");
  if (entropies) parts.push(`entropy ${written(entropies[token])}`);
  if (logProbs) parts.push(`log-prob ${written(logProbs[token])}`);
  if (advantages) parts.push(`advantage ${signed(advantages[token])}`);
  if (ratios) parts.push(`ratio ${written(ratios[token])}`);
  const clip = clippedWord(rollout, token);
  if (clip !== undefined && clip !== "no") parts.push(`clipped ${clip}`);
  return parts.join(", ");
}

/** @param {string} field @param {string | undefined} text */
function fillField(field, text) {
  const value = byId(`see-${field}`);
  value.textContent = text ?? "";
  const line = value.parentElement;
  if (line) line.hidden = text === undefined;
}

/** @param {Column | undefined} column @param {number} token @param {(value: number | null) => string} show */
const cellText = (column, token, show) => (column ? show(column[token]) : undefined);

/** @param {PageRollout} rollout @param {number} token */
function inspectToken(rollout, token) {
  const { ids, logProbs, sampler, entropies, advantages, ratios, masked, pieces, total } = rollout;
  byId("inspector").classList.add("filled");
  byId("see-text").textContent = pageData.pieces[pieces[token]].replace(/ /g, "␣");
  fillField("place", `${token + 1} of ${fourDigits.format(total)}${masked?.[token] ? ", masked" : ""}`);
  fillField("id", ids ? String(ids[token]) : undefined);
  fillField("logprob", cellText(logProbs, token, written));
  fillField(
    "probability",
    cellText(logProbs, token, (value) => (value === null ? "not finite" : `${written(100 * Math.exp(value))} %`)),
  );
  fillField("entropy", cellText(entropies, token, written));
  fillField("sampler", sampler && logProbs ? samplerText(sampler[token], logProbs[token]) : undefined);
  fillField("ratio", cellText(ratios, token, written));
  fillField("clipped", clippedWord(rollout, token));
  fillField("advantage", cellText(advantages, token, signed));
  byId("see-advantage").className = advantages
    ? ["negative", "", "positive"][1 + Math.sign(advantages[token] ?? 0)]
    : "";
  inspectSpan(rollout.spans[spanAt(rollout, token)]);
}

/** @param {number | null} sampler @param {number | null} trainer */
function samplerText(sampler, trainer) {
  const gap = sampler === null || trainer === null ? "" : ` (${signed(Number((sampler - trainer).toPrecision(3)))})`;
  return `${written(sampler)}${gap}`;
}

/** @param {PageSpan | undefined} span */
function inspectSpan(span) {
  const box = byId("see-span");
  box.hidden = span === undefined;
  if (!span) return;
  const { label, entropy, scale, clarity, before, after } = span;
  const lines = [
    ["Step entropy", entropy, written],
    ["Weight before", before, signed],
    ["Weight after", after, signed],
    ["Scale", scale, (/** @type {number | null} */ value) => `×${written(value)}`],
    ["Clarity", clarity, written],
  ];
  const list = makeElement("dl", "");
  for (const [
    name,
    value,
    show,
  ] of /** @type {[string, number | null | undefined, (value: number | null) => string][]} */ (lines)) {
    if (value === undefined) continue;
    const line = makeElement("div", "");
    line.append(makeElement("dt", "", name), makeElement("dd", "", show(value)));
    list.append(line);
  }
  box.replaceChildren(makeElement("p", "span-name", label), list);
}
