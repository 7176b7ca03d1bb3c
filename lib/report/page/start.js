// Puts the parts together.

/** @param {PageRollout} rollout */
function rolloutName({ group, index, reward, total }) {
  return `group ${group} · rollout ${index + 1}${reward === null ? "" : ` · reward ${written(reward)}`} · ${written(total)} tokens`;
}

function setUpTokens() {
  const view = new TokenView(byId("view"), byId("ribbon"));
  const picker = /** @type {HTMLSelectElement} */ (byId("rollout"));
  const cut = byId("cut");
  let rollouts = /** @type {PageRollout[]} */ ([]);

  const show = () => {
    const rollout = rollouts[picker.selectedIndex];
    if (!rollout) return;
    byId("view").ariaLabel = `Tokens of ${rolloutName(rollout)}`;
    byId("prompt-box").hidden = rollout.prompt === "";
    byId("prompt").textContent = rollout.prompt;
    view.show(rollout);
    const only = rollout.pieces.length === 0;
    const left = rollout.total - rollout.pieces.length;
    cut.hidden = left === 0 && !only;
    cut.textContent = only
      ? `No tokens were recorded. ${rollout.text}`
      : `The first ${written(rollout.pieces.length)} of ${written(rollout.total)} tokens.`;
    for (const button of document.querySelectorAll("section.step:not([hidden]) button.open"))
      button.setAttribute(
        "aria-pressed",
        String(Number(/** @type {HTMLElement} */ (button).dataset.rollout) === rollout.index),
      );
  };
  /** @param {number} place */
  const choose = (place) => {
    if (place < 0 || place >= rollouts.length) return;
    picker.selectedIndex = place;
    show();
  };
  picker.addEventListener("change", show);
  byId("rollout-back").addEventListener("click", () => choose(picker.selectedIndex - 1));
  byId("rollout-on").addEventListener("click", () => choose(picker.selectedIndex + 1));
  for (const radio of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('input[name="heat"]'))) {
    const choice = () => {
      view.setHeat(radio.value);
      byId("heat-name").textContent = radio.value === "entropy" ? "Entropy" : "Surprisal";
    };
    radio.addEventListener("change", choice);
    if (radio.checked) choice();
  }
  for (const button of document.querySelectorAll("button.open")) {
    button.addEventListener("click", () => {
      choose(rollouts.findIndex(({ index }) => index === Number(/** @type {HTMLElement} */ (button).dataset.rollout)));
      byId("tokens").scrollIntoView();
      byId("view").focus({ preventScroll: true });
    });
  }
  addEventListener("beforeprint", () => view.setPaper(true));
  addEventListener("afterprint", () => view.setPaper(false));

  /** @param {number} step */
  return (step) => {
    rollouts = pageData.steps[step].rollouts;
    picker.replaceChildren(...rollouts.map((rollout) => makeElement("option", "", rolloutName(rollout))));
    // The one with most to see: the longest of those that have an advantage.
    const weights = rollouts.map(({ advantages, pieces }) => pieces.length * (advantages?.some(Boolean) ? 2 : 1));
    choose(weights.indexOf(Math.max(...weights)));
  };
}

document.documentElement.classList.add("scripted");
for (const table of /** @type {NodeListOf<HTMLTableElement>} */ (document.querySelectorAll("table.groups")))
  setUpTable(table);
if (pageData.steps.length > 0) {
  // A page of texts alone has no section for tokens.
  const showStep = document.getElementById("tokens") ? setUpTokens() : () => undefined;
  const chooseStep = setUpSteps((step) => {
    showStep(step);
    textsShown();
  });
  showStep(pageData.steps.length - 1);
  setUpTexts(chooseStep);
}
