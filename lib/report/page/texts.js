// Prompts and responses: search, filter, order, pairs, links and keys.

/** @param {HTMLElement} article @param {string} name @returns {number} NaN where the rollout has no such number */
function figureOf(article, name) {
  for (const figure of article.querySelectorAll(".figures-line > div"))
    if (figure instanceof HTMLElement && figure.dataset.name === name) return Number(figure.dataset.value);
  return NaN;
}

/** Rollouts without the number come last in both orders. @param {number} a @param {number} b @param {number} sign */
const byFigure = (a, b, sign) =>
  Number.isNaN(a) || Number.isNaN(b) ? Number(Number.isNaN(a)) - Number(Number.isNaN(b)) : sign * (a - b);

/** The rollouts of one group, with the smallest and the largest reward among them. */
class GroupTexts {
  /** @param {HTMLElement} section */
  constructor(section) {
    this.section = section;
    this.responses = /** @type {HTMLElement} */ (section.querySelector(".responses"));
    this.articles = /** @type {HTMLElement[]} */ ([...this.responses.children]);
    this.prompt = section.querySelector("details.prompt pre")?.textContent?.toLowerCase() ?? "";
    const rewards = this.articles.map((article) => figureOf(article, "reward"));
    const known = rewards.filter((reward) => !Number.isNaN(reward));
    this.worst = this.articles[rewards.indexOf(Math.min(...known))];
    this.best = this.articles[rewards.indexOf(Math.max(...known))];
    const button = section.querySelector("button.pair-up");
    button?.addEventListener("click", () => this.pair(button.getAttribute("aria-pressed") !== "true"));
  }

  /** The best and the worst beside each other, or all of them. @param {boolean} only */
  pair(only) {
    this.section.classList.toggle("pair", only);
    this.section.querySelector("button.pair-up")?.setAttribute("aria-pressed", String(only));
    for (const article of this.articles)
      article.classList.toggle("aside", only && article !== this.best && article !== this.worst);
    if (only && this.best && this.worst) this.responses.prepend(this.best, this.worst);
    else this.responses.append(...this.articles);
  }
}

/** The rollouts of one step. */
class StepTexts {
  /** @param {HTMLElement} step the section of the step, which has texts */
  constructor(step) {
    const find = (/** @type {string} */ selector) => /** @type {HTMLElement} */ (step.querySelector(selector));
    this.search = /** @type {HTMLInputElement} */ (find(".search"));
    this.sortBy = /** @type {HTMLSelectElement} */ (find(".sort-by"));
    this.turn = find(".turn-round");
    this.choice = /** @type {HTMLSelectElement} */ (find(".show"));
    this.found = find(".found");
    this.sorted = find(".sorted");
    this.groups = [...step.querySelectorAll(".group-texts")].map(
      (section) => new GroupTexts(/** @type {HTMLElement} */ (section)),
    );
    this.search.addEventListener("input", () => this.select());
    this.choice.addEventListener("change", () => this.select());
    this.sortBy.addEventListener("change", () => this.order());
    this.turn.addEventListener("click", () => {
      this.turn.setAttribute("aria-pressed", String(this.turn.getAttribute("aria-pressed") !== "true"));
      this.order();
    });
    this.select();
  }

  /** Hides what is not looked for. */
  select() {
    const words = this.search.value.toLowerCase();
    const { value } = this.choice;
    let shown = 0;
    let all = 0;
    for (const group of this.groups) {
      let some = false;
      for (const article of group.articles) {
        const chosen =
          value === "all" ||
          (value === "best" && article === group.best) ||
          (value === "worst" && article === group.worst) ||
          (value === "cut" && article.dataset.cut === "1");
        const said =
          words === "" || group.prompt.includes(words) || (article.textContent ?? "").toLowerCase().includes(words);
        article.hidden = !(chosen && said);
        some ||= !article.hidden;
        shown += Number(!article.hidden);
        ++all;
      }
      group.section.hidden = !some;
    }
    this.found.textContent =
      shown === all ? `${written(all)} rollouts` : `${written(shown)} of ${written(all)} rollouts`;
  }

  /** All rollouts by one number, or each in its group. */
  order() {
    const name = this.sortBy.value;
    const sign = this.turn.getAttribute("aria-pressed") === "true" ? 1 : -1;
    for (const group of this.groups) {
      group.pair(false);
      group.section.classList.toggle("emptied", name !== "");
    }
    if (name !== "") {
      const articles = this.groups.flatMap(({ articles: own }) => own);
      const figures = new Map(articles.map((article) => [article, figureOf(article, name)]));
      articles.sort((a, b) => byFigure(figures.get(a) ?? NaN, figures.get(b) ?? NaN, sign));
      this.sorted.append(...articles);
    }
    this.sorted.hidden = name === "";
    announce(
      name === "" ? "In the order of the groups" : `Sorted by ${name}, ${sign > 0 ? "smallest" : "largest"} first`,
    );
  }

  /** Shows everything again, in the order of the groups. */
  reset() {
    this.search.value = "";
    this.choice.value = "all";
    this.sortBy.value = "";
    this.order();
    this.select();
  }
}

/** @param {HTMLElement} article */
function goTo(article) {
  article.focus({ preventScroll: true });
  article.scrollIntoView({ block: "start" });
}

/** Moves to the next rollout in view of the reader, or the one before. @param {number} by */
function goBy(by) {
  const articles = /** @type {HTMLElement[]} */ ([
    ...document.querySelectorAll("section.step:not([hidden]) article.rollout"),
  ]).filter((article) => article.offsetParent !== null);
  const here = articles.findIndex((article) => article.contains(document.activeElement));
  const next = articles[here < 0 ? (by > 0 ? 0 : articles.length - 1) : here + by];
  if (next) goTo(next);
}

/** @param {(step: number) => void} chooseStep */
function setUpTexts(chooseStep) {
  /** @type {Map<number, StepTexts>} */
  const steps = new Map();
  for (const section of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("section.step")))
    if (section.querySelector(".texts")) steps.set(Number(section.dataset.step), new StepTexts(section));

  const follow = () => {
    const address = /^#(\d+)\/\d+$/.exec(location.hash);
    if (!address) return;
    const step = Number(address[1]);
    chooseStep(step);
    const article = document.getElementById(location.hash.slice(1));
    if (!article) return announce("The text of this rollout is not on the page");
    if (article.offsetParent === null) steps.get(step)?.reset();
    goTo(article);
  };
  addEventListener("hashchange", follow);
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const search = /** @type {HTMLInputElement | null} */ (
      document.querySelector("section.step:not([hidden]) input.search")
    );
    if (key === "Escape" && target === search && search) {
      search.value = "";
      search.dispatchEvent(new Event("input"));
      return search.blur();
    }
    if (target instanceof Element && target.closest("input, select, textarea, [role=listbox]")) return;
    if (key === "j" || key === "k") goBy(key === "j" ? 1 : -1);
    else if (key === "/" && search) search.focus();
    else return;
    event.preventDefault();
  });
  follow();
}
