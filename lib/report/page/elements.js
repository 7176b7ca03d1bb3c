// Elements, made and found. Text enters the page by textContent alone.

/** @param {string} id @returns {HTMLElement} */
function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element "${id}"`);
  return found;
}

/**
 * @param {string} tag
 * @param {string} className
 * @param {string} [text]
 * @returns {HTMLElement}
 */
function makeElement(tag, className, text) {
  const element = document.createElement(tag);
  if (className !== "") element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @returns {SVGElement}
 */
function makeDrawing(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** Tells those who listen instead of looking. @param {string} text */
function announce(text) {
  byId("says").textContent = text;
}

const fourDigits = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const fourDigitsSigned = new Intl.NumberFormat("en", { maximumSignificantDigits: 4, signDisplay: "exceptZero" });

const threeDigits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const threeDigitsSigned = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, signDisplay: "exceptZero" });

/** @param {number | null} value @param {Intl.NumberFormat} [format] */
function written(value, format = fourDigits) {
  if (value === null) return "not finite";
  const size = Math.abs(value);
  const text = size > 0 && (size < 1e-4 || size >= 1e9) ? value.toExponential(1) : format.format(value);
  return text.replace(/-/g, "−");
}

/** @param {number | null} value */
const signed = (value) => written(value, fourDigitsSigned);
