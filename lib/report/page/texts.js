// Prompts and responses: search, filter, order, pairs, links and keys.

/** A number or a field of a rollout. @param {HTMLElement} article @param {string} name @returns undefined where it has none */
function valueOf(article, name) {
  for (const one of article.querySelectorAll(".figures-line > div, .fields > div"))
    if (one instanceof HTMLElement && one.dataset.name === name) {
      const value = one.dataset.value ?? one.querySelector("dd")?.textContent ?? "";
      return value === "NaN" ? undefined : value;
    }
  return undefined;
}

/** @param {HTMLElement} article @param {string} name @returns {number} NaN where the rollout has no such number */
const figureOf = (article, name) => Number(valueOf(article, name) ?? NaN);

const asWords = new Intl.Collator("en", { numeric: true });

/** Numbers by size, all else as words. @param {string} a @param {string} b */
function compared(a, b) {
  const [one, two] = [a, b].map((value) => (value.trim() === "" ? NaN : Number(value)));
  if (Number.isNaN(one) || Number.isNaN(two)) return asWords.compare(a, b);
  return one === two ? 0 : one - two;
}

/**
 * Rollouts without the value come last in both orders.
 *
 * @param {string | undefined} a
 * @param {string | undefined} b
 * @param {number} sign
 */
const byValue = (a, b, sign) =>
  a === undefined || b === undefined ? Number(a === undefined) - Number(b === undefined) : sign * compared(a, b);

/**
 * What is looked for, where it is no words but a condition: "reward > 0.5", "pred = 12".
 *
 * @param {string} text
 * @param {readonly string[]} names of numbers and fields
 * @returns {((article: HTMLElement) => boolean) | undefined}
 */
function conditionOf(text, names) {
  const found = /^\s*(.+?)\s*(<=|>=|=|<|>)\s*(.+?)\s*$/.exec(text);
  if (!found || !names.includes(found[1])) return undefined;
  const [, name, relation, wanted] = found;
  return (article) => {
    const value = valueOf(article, name);
    if (value === undefined) return false;
    const order = compared(value, wanted);
    return order === 0 ? relation.includes("=") : relation.includes(order < 0 ? "<" : ">");
  };
}

/** The rollouts of one group, with the smallest and the largest reward among them. */
class GroupTexts {
  /** @param {HTMLElement} section */
  constructor(section) {
    this.section = section;
    this.responses = /** @type {HTMLElement} */ (section.querySelector(".responses"));
    this.articles = /** @type {HTMLElement[]} */ ([...this.responses.children]);
    // In two steps: of "a b" Chromium would look at every a of the document, for each section.
    this.prompt = section.querySelector(".prompt")?.querySelector("pre")?.textContent?.toLowerCase() ?? "";
    const rewards = this.articles.map((article) => figureOf(article, "reward"));
    const known = rewards.filter((reward) => !Number.isNaN(reward)).sort((a, b) => a - b);
    this.worst = this.articles[rewards.indexOf(known[0] ?? NaN)];
    this.best = this.articles[rewards.indexOf(known.at(-1) ?? NaN)];
    /** Rollouts that are looked for. */
    this.shown = this.articles.length;
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

/** A group in several parts has one best rollout and one worst. @param {readonly GroupTexts[]} groups */
function joinParts(groups) {
  /** @type {Map<string, GroupTexts[]>} */
  const parts = new Map();
  for (const group of groups) {
    const place = group.section.dataset.group ?? "";
    const own = parts.get(place);
    if (own) own.push(group);
    else parts.set(place, [group]);
  }
  for (const own of parts.values()) {
    if (own.length === 1) continue;
    const by = (/** @type {number} */ sign) => (/** @type {HTMLElement} */ a, /** @type {HTMLElement} */ b) =>
      byValue(valueOf(a, "reward"), valueOf(b, "reward"), sign);
    const ends = own.flatMap(({ best, worst }) => [best, worst].filter((one) => one !== undefined));
    const [best] = [...ends].sort(by(-1));
    const [worst] = [...ends].sort(by(1));
    for (const group of own) [group.best, group.worst] = [best, worst];
  }
}

/** The rollouts of one step; of many, those of one page are in the document. */
class StepTexts {
  /** @param {HTMLElement} step the section of the step, which has texts */
  constructor(step) {
    const find = (/** @type {string} */ selector) => /** @type {HTMLElement} */ (step.querySelector(selector));
    this.search = /** @type {HTMLInputElement} */ (find(".search"));
    this.sortBy = /** @type {HTMLSelectElement} */ (find(".sort-by"));
    this.turn = find(".turn-round");
    this.choice = /** @type {HTMLSelectElement} */ (find(".show"));
    this.found = find(".found");
    this.body = find(".texts");
    this.sorted = find(".sorted");
    this.turner = /** @type {HTMLElement | null} */ (step.querySelector(".page-turner"));
    this.pageChoice = /** @type {HTMLSelectElement | null} */ (step.querySelector("select.page"));
    const later = /** @type {HTMLTemplateElement | null} */ (step.querySelector("template.later-texts"));
    this.groups = [...this.body.querySelectorAll(".group-texts"), ...(later?.content.children ?? [])].map(
      (section) => new GroupTexts(/** @type {HTMLElement} */ (section)),
    );
    joinParts(this.groups);
    this.all = this.groups.reduce((sum, { articles }) => sum + articles.length, 0);
    this.atOnce = later ? Number(this.body.dataset.atOnce) : Infinity;
    /** @type {HTMLElement[][]} sections of groups, or articles that are sorted */
    this.pages = [];
    this.page = 0;
    this.search.addEventListener("input", () => this.select());
    this.choice.addEventListener("change", () => this.select());
    this.sortBy.addEventListener("change", () => this.order());
    this.turn.addEventListener("click", () => {
      this.turn.setAttribute("aria-pressed", String(this.turn.getAttribute("aria-pressed") !== "true"));
      this.order();
    });
    this.pageChoice?.addEventListener("change", () => this.turnTo(Number(this.pageChoice?.value)));
    step.querySelector(".page-back")?.addEventListener("click", () => this.turnTo(this.page - 1));
    step.querySelector(".page-on")?.addEventListener("click", () => this.turnTo(this.page + 1));
    this.select();
  }

  /** Hides what is not looked for. */
  select() {
    const words = this.search.value.toLowerCase();
    const condition = conditionOf(
      this.search.value,
      Array.from(this.sortBy.options, (option) => option.value),
    );
    const { value } = this.choice;
    let shown = 0;
    for (const group of this.groups) {
      group.shown = 0;
      for (const article of group.articles) {
        const chosen =
          value === "all" ||
          (value === "best" && article === group.best) ||
          (value === "worst" && article === group.worst) ||
          (value === "cut" && article.dataset.cut === "1");
        const said = condition
          ? condition(article)
          : words === "" || group.prompt.includes(words) || (article.textContent ?? "").toLowerCase().includes(words);
        article.hidden = !(chosen && said);
        group.shown += Number(!article.hidden);
      }
      group.section.hidden = group.shown === 0;
      shown += group.shown;
    }
    this.found.textContent =
      shown === this.all ? `${written(this.all)} rollouts` : `${written(shown)} of ${written(this.all)} rollouts`;
    this.lay();
  }

  /** All rollouts by one number or field, or each in its group. */
  order() {
    const name = this.sortBy.value;
    for (const group of this.groups) {
      group.pair(false);
      group.section.classList.toggle("emptied", name !== "");
    }
    this.sorted.hidden = name === "";
    this.lay();
    const first = this.turn.getAttribute("aria-pressed") === "true" ? "smallest" : "largest";
    announce(name === "" ? "In the order of the groups" : `Sorted by ${name}, ${first} first`);
  }

  /** Every article in the order of one number or field. @param {string} name */
  inOrderOf(name) {
    const sign = this.turn.getAttribute("aria-pressed") === "true" ? 1 : -1;
    const articles = this.groups.flatMap(({ articles: own }) => own);
    const values = new Map(articles.map((article) => [article, valueOf(article, name)]));
    return articles.sort((a, b) => byValue(values.get(a), values.get(b), sign));
  }

  /** Pages of what is looked for, in order. Where one page holds everything, what is hidden stays on it. */
  lay() {
    const name = this.sortBy.value;
    const one = this.all <= this.atOnce;
    this.pages = [[]];
    let left = this.atOnce;
    /** @param {HTMLElement} element @param {number} size */
    const add = (element, size) => {
      if (size > left) {
        this.pages.push([]);
        left = this.atOnce;
      }
      left -= size;
      this.pages[this.pages.length - 1].push(element);
    };
    if (name === "") {
      for (const { section, shown } of this.groups) if (one || shown > 0) add(section, shown);
    } else {
      for (const article of this.inOrderOf(name)) if (one || !article.hidden) add(article, 1);
    }
    const count = this.pages.length;
    this.pageChoice?.replaceChildren(
      ...this.pages.map((_, page) => {
        const option = /** @type {HTMLOptionElement} */ (makeElement("option", "", `${page + 1} of ${written(count)}`));
        option.value = String(page);
        return option;
      }),
    );
    if (this.turner) this.turner.hidden = count < 2;
    this.put(0);
  }

  /** @param {number} page */
  put(page) {
    this.page = page;
    const wanted = this.pages[page];
    if (this.sortBy.value !== "") this.sorted.replaceChildren(...wanted);
    else if (this.atOnce < Infinity) this.body.replaceChildren(this.sorted, ...wanted);
    if (this.pageChoice) this.pageChoice.value = String(page);
  }

  /** Shows another page from its beginning. @param {number} page @returns whether there is one */
  turnTo(page) {
    if (this.pages[page] === undefined || page === this.page) return false;
    this.put(page);
    this.body.scrollIntoView({ block: "start" });
    announce(`Page ${page + 1} of ${written(this.pages.length)}`);
    return true;
  }

  /** The next page or the one before. @param {number} by */
  turnBy(by) {
    return this.turnTo(this.page + by);
  }

  /** Brings a rollout into view, wherever it is. @param {string} address @returns {HTMLElement | undefined} */
  reveal(address) {
    const group = this.groups.find(({ articles }) => articles.some(({ id }) => id === address));
    const article = group?.articles.find(({ id }) => id === address);
    if (!group || !article || article.offsetParent !== null) return article;
    this.reset();
    const page = this.pages.findIndex((sections) => sections.includes(group.section));
    if (page !== this.page) this.put(page);
    return article;
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

/** @type {Map<HTMLElement, StepTexts>} */
const stepTexts = new Map();

/** The rollouts of the step that is shown, made ready when they are first needed. @returns {StepTexts | undefined} */
function textsShown() {
  const section = /** @type {HTMLElement | null} */ (document.querySelector("section.step:not([hidden])"));
  if (!section?.querySelector(".texts")) return undefined;
  const texts = stepTexts.get(section) ?? new StepTexts(section);
  stepTexts.set(section, texts);
  return texts;
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
  else if (here >= 0 && textsShown()?.turnBy(by)) goBy(by);
}

/** @param {(step: number) => void} chooseStep */
function setUpTexts(chooseStep) {
  const follow = () => {
    const address = /^#(\d+)\/\d+$/.exec(location.hash);
    if (!address) return;
    chooseStep(Number(address[1]));
    const article = textsShown()?.reveal(location.hash.slice(1));
    if (!article) return announce("The text of this rollout is not on the page");
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
  textsShown();
  follow();
}
