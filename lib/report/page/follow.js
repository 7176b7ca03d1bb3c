// Follows a run that is still being written: hears from the server what is new, and loads the page anew as its reader left it.

/** @typedef {{ revision: string, steps: number, rollouts: number }} News */
/**
 * How a reader left the page.
 *
 * @typedef {object} Left
 * @property {boolean} follow
 * @property {string} news said by the page that comes next
 * @property {boolean} newest the last step was shown, and no link led to a rollout
 * @property {string} step
 * @property {string[]} controls
 * @property {string} focus id of the element
 * @property {number} top
 * @property {number} viewTop
 * @property {boolean[]} open which details are open
 */

const LEFT = "surprisal view";
/** Milliseconds from one loading to the next, at least: pages that load slowly are loaded less often. */
const PAUSE = Math.max(2000, 4 * performance.now());

/** What differs, in words. @param {News} before @param {News} now */
function newsOf(before, now) {
  /** @param {number} count @param {string} what */
  const more = (count, what) => `${written(count)} new ${what}${count === 1 ? "" : "s"}`;
  if (now.steps > before.steps) return more(now.steps - before.steps, "step");
  if (now.rollouts > before.rollouts) return more(now.rollouts - before.rollouts, "rollout");
  return "The run has changed";
}

/** The fields and switches of the step that is shown. @returns {HTMLElement[]} */
const controlsShown = () => [
  .../** @type {NodeListOf<HTMLElement>} */ (
    document.querySelectorAll(
      "section.step:not([hidden]) :is(input, select, .turn-round), #tokens :is(#rollout, [name=heat])",
    )
  ),
];

const detailsShown = () => [
  .../** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("main details")),
];

/** @param {HTMLElement} control */
function settingOf(control) {
  if (control instanceof HTMLInputElement && control.type === "radio") return String(control.checked);
  if (control instanceof HTMLInputElement || control instanceof HTMLSelectElement) return control.value;
  return control.getAttribute("aria-pressed") ?? "";
}

/** Sets a control as a reader would. @param {HTMLElement} control @param {string} setting */
function set(control, setting) {
  if (settingOf(control) === setting) return;
  if (control instanceof HTMLSelectElement) {
    const place = [...control.options].findIndex(({ value }) => value === setting);
    if (place < 0) return; // a rollout that is not in this step
    control.selectedIndex = place;
    control.dispatchEvent(new Event("change"));
  } else if (control instanceof HTMLInputElement && control.type !== "radio") {
    control.value = setting;
    control.dispatchEvent(new Event("input"));
  } else if (setting === "true" || control.localName === "button") control.click();
}

const stepSlider = () => /** @type {HTMLInputElement | null} */ (document.getElementById("step-slider"));

/** @returns {Omit<Left, "follow" | "news">} */
function left() {
  const slider = stepSlider();
  const last = pageData.steps.length - 1;
  const current = slider ? Number(slider.value) : last;
  return {
    newest: current === last && !/^#\d+\/\d+$/.test(location.hash),
    step: pageData.steps[current]?.label ?? "",
    controls: controlsShown().map(settingOf),
    focus: document.activeElement?.id ?? "",
    top: scrollY,
    viewTop: document.getElementById("view")?.scrollTop ?? 0,
    open: detailsShown().map(({ open }) => open),
  };
}

/** @param {Left} before */
function restore({ newest, step, controls, focus, top, viewTop, open }) {
  const slider = stepSlider();
  const found = pageData.steps.findIndex(({ label }) => label === step);
  if (slider) {
    slider.value = String(newest || found < 0 ? pageData.steps.length - 1 : found);
    slider.dispatchEvent(new Event("input"));
  }
  const now = controlsShown();
  if (now.length === controls.length) now.forEach((control, i) => set(control, controls[i]));
  const details = detailsShown();
  if (details.length === open.length) details.forEach((one, i) => (one.open = open[i]));
  document.getElementById(focus)?.focus({ preventScroll: true });
  const view = document.getElementById("view");
  if (view) view.scrollTop = viewTop;
  scrollTo({ top, behavior: "instant" });
}

/** What the page before this one kept; null where a reader has just come. @returns {Left | null} */
function kept() {
  const [entry] = performance.getEntriesByType("navigation");
  if (!(entry instanceof PerformanceNavigationTiming) || entry.type !== "reload") return null;
  return JSON.parse(sessionStorage.getItem(LEFT) ?? "null");
}

function setUpFollowing() {
  const { revision = "", steps, rollouts } = byId("live").dataset;
  const own = { revision, steps: Number(steps), rollouts: Number(rollouts) };
  const follow = /** @type {HTMLInputElement} */ (byId("follow"));
  const said = byId("news");
  let news = "";
  let waits = false;

  const state = () => (news !== "" ? news : follow.checked ? "up to date" : "stands still");
  /** Somebody who types or marks text is not interrupted. */
  const busy = () =>
    getSelection()?.isCollapsed === false || document.activeElement?.matches("input[type=search], select") === true;
  const load = () => {
    waits = false;
    if (news !== "" && follow.checked && !busy()) location.reload();
  };
  const loadSoon = () => {
    if (waits || news === "" || !follow.checked) return;
    waits = true;
    setTimeout(load, Math.max(0, PAUSE - performance.now()));
  };
  /** @param {string} text */
  const say = (text) => {
    if (said.textContent !== text) said.textContent = text;
  };

  const before = kept();
  if (before) {
    follow.checked = before.follow;
    restore(before);
    // Once more where the browser has gone to the link.
    addEventListener("load", () => scrollTo({ top: before.top, behavior: "instant" }));
    if (before.news !== "") announce(before.news);
  }
  history.scrollRestoration = "manual";
  say(state());

  const source = new EventSource("/events");
  source.addEventListener("message", ({ data }) => {
    const now = /** @type {News} */ (JSON.parse(data));
    news = now.revision === own.revision ? "" : newsOf(own, now);
    say(state());
    if (news !== "" && !follow.checked) announce(news);
    loadSoon();
  });
  source.addEventListener("error", () => say("the viewer does not answer"));
  follow.addEventListener("change", () => {
    say(state());
    loadSoon();
  });
  document.addEventListener("focusout", loadSoon);
  document.addEventListener("selectionchange", loadSoon);
  addEventListener("pagehide", () => {
    source.close();
    sessionStorage.setItem(
      LEFT,
      JSON.stringify({ ...left(), follow: follow.checked, news: follow.checked ? news : "" }),
    );
  });
}

setUpFollowing();
