// The slider: one section of the page is shown at a time.

/**
 * Sets up the slider; `shown(step)` hears of every change.
 *
 * @param {(step: number) => void} shown
 * @returns {(step: number) => void} goes to a step
 */
function setUpSteps(shown) {
  const sections = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("section.step")]);
  const slider = /** @type {HTMLInputElement | null} */ (document.getElementById("step-slider"));
  let current = sections.length - 1;
  if (!slider) return () => undefined;
  const back = /** @type {HTMLButtonElement} */ (byId("step-back"));
  const on = /** @type {HTMLButtonElement} */ (byId("step-on"));

  /** @param {number} step */
  const choose = (step) => {
    const wanted = Math.max(0, Math.min(sections.length - 1, step));
    if (wanted === current) return;
    current = wanted;
    sections.forEach((section, s) => (section.hidden = s !== current));
    show();
    const { label } = pageData.steps[current];
    const warnings = sections[current].querySelectorAll(".warnings li").length;
    announce(`Showing ${label}: ${warnings === 1 ? "1 warning" : `${warnings} warnings`}`);
    shown(current);
  };
  const show = () => {
    const { label } = pageData.steps[current];
    slider.value = String(current);
    slider.setAttribute("aria-valuetext", `${label}, ${current + 1} of ${sections.length}`);
    byId("step-name").textContent = label;
    // A button that is disabled while it has the focus would lose it.
    back.setAttribute("aria-disabled", String(current === 0));
    on.setAttribute("aria-disabled", String(current === sections.length - 1));
  };
  slider.addEventListener("input", () => choose(Number(slider.value)));
  back.addEventListener("click", () => choose(current - 1));
  on.addEventListener("click", () => choose(current + 1));
  show();
  return choose;
}
