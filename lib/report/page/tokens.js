// The tokens of a rollout. Only the lines in view, and a few around them, are in the document.

const ROWS_AROUND = 6;
/** Lines that are drawn for paper. */
const ROWS_ON_PAPER = 150;

class TokenView {
  /** @param {HTMLElement} view the scrolling list box @param {HTMLElement} ribbon */
  constructor(view, ribbon) {
    this.view = view;
    this.ribbon = ribbon;
    this.heat = "entropy";
    this.sheet = makeElement("div", "sheet");
    this.sheet.role = "presentation";
    view.replaceChildren(this.sheet);
    this.widths = new Widths(view);
    /** @type {PageRollout | undefined} */
    this.rollout = undefined;
    /** @type {Row[]} */
    this.rows = [];
    /** Lines in the document, by number. @type {Map<number, HTMLElement>} */
    this.drawn = new Map();
    this.active = -1;
    this.pending = false;
    this.everything = false;
    this.mark = (/** @type {number} */ _from, /** @type {number} */ _to) => {};
    view.addEventListener("scroll", () => this.drawSoon());
    view.addEventListener("keydown", (event) => this.onKey(event));
    view.addEventListener("click", (event) => this.onPoint(event, true));
    view.addEventListener("pointermove", (event) => this.onPoint(event, false));
    view.addEventListener(
      "pointerleave",
      () => this.rollout && this.active >= 0 && inspectToken(this.rollout, this.active),
    );
    view.addEventListener("focus", () => this.active < 0 && this.rows.length > 0 && this.choose(0));
    new ResizeObserver(() => this.onResize()).observe(view);
    this.followRibbon();
  }

  /** @param {PageRollout} rollout */
  show(rollout) {
    this.rollout = rollout;
    this.active = -1;
    this.view.removeAttribute("aria-activedescendant");
    this.view.scrollTop = 0;
    this.arrange();
    this.mark = drawRibbon(this.ribbon, rollout, this.heat);
    this.draw();
  }

  /** @param {string} heat */
  setHeat(heat) {
    this.heat = heat;
    if (!this.rollout) return;
    this.mark = drawRibbon(this.ribbon, this.rollout, heat);
    this.redraw();
  }

  arrange() {
    if (!this.rollout) return;
    this.room = this.view.clientWidth;
    this.rows = layOut(this.rollout, this.widths, this.room);
    this.sheet.style.height = `${this.rows.length * ROW_HEIGHT}px`;
    this.redraw();
  }

  onResize() {
    if (!this.rollout || this.view.clientWidth === this.room) return this.drawSoon();
    const first = this.rows[Math.floor(this.view.scrollTop / ROW_HEIGHT)]?.from ?? 0;
    this.arrange();
    this.view.scrollTop = rowOf(this.rows, first) * ROW_HEIGHT;
    this.draw();
  }

  redraw() {
    this.sheet.replaceChildren();
    this.drawn.clear();
    this.draw();
  }

  drawSoon() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  draw() {
    const { scrollTop, clientHeight } = this.view;
    const top = Math.floor(scrollTop / ROW_HEIGHT);
    const bottom = Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT);
    const first = this.everything ? 0 : Math.max(0, top - ROWS_AROUND);
    const last = Math.min(this.rows.length, this.everything ? ROWS_ON_PAPER : bottom + ROWS_AROUND);
    for (const [number, line] of this.drawn) {
      if (number >= first && number < last) continue;
      line.remove();
      this.drawn.delete(number);
    }
    for (let number = first; number < last; ++number) {
      if (this.drawn.has(number)) continue;
      const line = this.drawRow(this.rows[number]);
      line.style.top = `${number * ROW_HEIGHT}px`;
      this.drawn.set(number, line);
      this.sheet.append(line);
    }
    const lastSeen = this.rows[Math.min(bottom, this.rows.length) - 1];
    if (lastSeen) this.mark(this.rows[Math.min(top, this.rows.length - 1)].from, lastSeen.to);
  }

  /** @param {Row} row */
  drawRow(row) {
    const rollout = /** @type {PageRollout} */ (this.rollout);
    if (row.from === row.to) return this.drawHeading(rollout.spans[row.span]);
    const line = makeElement("div", row.span < 0 ? "row" : row.end ? "row in end" : "row in");
    line.role = "presentation";
    for (let token = row.from; token < row.to; ++token) line.append(this.drawToken(rollout, token));
    return line;
  }

  /** @param {PageSpan} span */
  drawHeading(span) {
    const line = makeElement("div", "row heading");
    // The first token of the span says the same to those who listen.
    line.ariaHidden = "true";
    const { label, entropy, before, after, scale } = span;
    line.append(makeElement("b", "", label));
    if (entropy !== undefined)
      line.append(makeElement("span", `heat h${heatLevel(entropy)}`, `H ${written(entropy, threeDigits)}`));
    if (before !== undefined && after !== undefined) {
      const change = Math.sign((after ?? 0) - (before ?? 0));
      line.append(
        makeElement(
          "span",
          `weight ${["negative", "", "positive"][1 + change]}`,
          `weight ${written(before, threeDigitsSigned)} → ${written(after, threeDigitsSigned)}`,
        ),
      );
    }
    if (scale !== undefined) line.append(makeElement("span", "scale", `×${written(scale, threeDigits)}`));
    return line;
  }

  /** @param {PageRollout} rollout @param {number} token */
  drawToken(rollout, token) {
    const classes = ["token"];
    const advantage = rollout.advantages?.[token] ?? 0;
    const masked = Boolean(rollout.masked?.[token]);
    if (masked) classes.push("masked");
    if (advantage !== 0) classes.push(advantage > 0 ? "up" : "down");
    const clip = rollout.clipped?.[token] ?? 0;
    if (clip !== 0) classes.push(clip > 0 ? "clip-high" : "clip-low");
    const element = makeElement("span", classes.join(" "));
    element.role = "option";
    element.id = `token-${token}`;
    element.dataset.token = String(token);
    element.ariaLabel = tokenInWords(rollout, token);
    element.ariaPosInSet = String(token + 1);
    element.ariaSetSize = String(rollout.pieces.length);
    element.ariaSelected = String(token === this.active);
    if (advantage !== 0) {
      const size = Math.min(1, Math.abs(advantage) / pageData.scales.advantage);
      element.style.setProperty("--size", `${(1 + 3.5 * size).toFixed(1)}px`);
    }
    const level = masked ? "" : ` h${heatLevel(heatOf(rollout, token, this.heat))}`;
    element.append(makeElement("i", `heat${level}`, pageData.pieces[rollout.pieces[token]]));
    return element;
  }

  /** Makes a token the active one and brings it into view. @param {number} token */
  choose(token) {
    if (!this.rollout || this.rollout.pieces.length === 0) return;
    const wanted = Math.max(0, Math.min(this.rollout.pieces.length - 1, token));
    document.getElementById(`token-${this.active}`)?.setAttribute("aria-selected", "false");
    this.active = wanted;
    const row = rowOf(this.rows, wanted);
    const top = row * ROW_HEIGHT;
    const { scrollTop, clientHeight } = this.view;
    if (top < scrollTop) this.view.scrollTop = top - (row > 0 ? ROW_HEIGHT : 0);
    else if (top + ROW_HEIGHT > scrollTop + clientHeight) this.view.scrollTop = top + 2 * ROW_HEIGHT - clientHeight;
    this.draw();
    document.getElementById(`token-${wanted}`)?.setAttribute("aria-selected", "true");
    this.view.setAttribute("aria-activedescendant", `token-${wanted}`);
    inspectToken(this.rollout, wanted);
  }

  /** @param {Event} event @param {boolean} choose */
  onPoint(event, choose) {
    const element = event.target instanceof Element ? event.target.closest("[data-token]") : null;
    if (!(element instanceof HTMLElement) || !this.rollout) return;
    const token = Number(element.dataset.token);
    if (choose) this.choose(token);
    else inspectToken(this.rollout, token);
  }

  /** The token under the same place some lines away. @param {number} lines */
  byLines(lines) {
    const from = rowOf(this.rows, this.active);
    const middle = (/** @type {number} */ token) => {
      const row = this.rows[rowOf(this.rows, token)];
      let x = 0;
      for (let t = row.from; t < token; ++t) x += this.widths.of(this.rollout?.pieces[t] ?? 0);
      return x + this.widths.of(this.rollout?.pieces[token] ?? 0) / 2;
    };
    const step = Math.sign(lines);
    let to = Math.max(0, Math.min(this.rows.length - 1, from + lines));
    while (this.rows[to] && this.rows[to].from === this.rows[to].to) to += step;
    const row = this.rows[to];
    if (!row || to === from) return this.active;
    const wanted = middle(this.active);
    let token = row.from;
    while (token + 1 < row.to && middle(token) < wanted) ++token;
    return token;
  }

  /** The next token that `test` holds for, or the active one. @param {(token: number) => boolean} test @param {number} step */
  nextToken(test, step) {
    const count = this.rollout?.pieces.length ?? 0;
    for (let token = this.active + step; token >= 0 && token < count; token += step) if (test(token)) return token;
    return this.active;
  }

  /** @param {KeyboardEvent} event @returns {number | undefined} */
  target(event) {
    const rollout = this.rollout;
    if (!rollout || event.altKey || event.metaKey) return undefined;
    const row = this.rows[rowOf(this.rows, Math.max(this.active, 0))];
    const screen = Math.max(1, Math.floor(this.view.clientHeight / ROW_HEIGHT) - 1);
    const back = event.shiftKey ? -1 : 1;
    switch (event.key) {
      case "ArrowRight":
        return this.active + 1;
      case "ArrowLeft":
        return this.active - 1;
      case "ArrowDown":
        return this.byLines(1);
      case "ArrowUp":
        return this.byLines(-1);
      case "PageDown":
        return this.byLines(screen);
      case "PageUp":
        return this.byLines(-screen);
      case "Home":
        return event.ctrlKey ? 0 : row?.from;
      case "End":
        return event.ctrlKey ? rollout.pieces.length - 1 : row && row.to - 1;
      case "s":
      case "S":
        return event.ctrlKey
          ? undefined
          : this.nextToken((token) => rollout.spans[spanAt(rollout, token)]?.begin === token, back);
      case "c":
      case "C":
        return event.ctrlKey ? undefined : this.nextToken((token) => Boolean(rollout.clipped?.[token]), back);
      default:
        return undefined;
    }
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const token = this.target(event);
    if (token === undefined) return;
    event.preventDefault();
    this.choose(token);
  }

  /** A press on the strip, and a drag along it, scroll there. */
  followRibbon() {
    const scrollTo = (/** @type {PointerEvent} */ event) => {
      const { left, width } = this.ribbon.getBoundingClientRect();
      const share = Math.max(0, Math.min(1, (event.clientX - left) / width));
      const token = Math.floor(share * Math.max((this.rollout?.pieces.length ?? 1) - 1, 0));
      this.view.scrollTop = rowOf(this.rows, token) * ROW_HEIGHT - this.view.clientHeight / 2;
    };
    this.ribbon.addEventListener("pointerdown", (event) => {
      this.ribbon.setPointerCapture(event.pointerId);
      scrollTo(event);
    });
    this.ribbon.addEventListener("pointermove", (event) => event.buttons > 0 && scrollTo(event));
  }

  /** On paper nothing scrolls: the first lines are laid out whole. @param {boolean} paper */
  setPaper(paper) {
    this.everything = paper;
    this.view.style.height = paper ? `${Math.min(this.rows.length, ROWS_ON_PAPER) * ROW_HEIGHT + 2}px` : "";
    this.draw();
  }
}
