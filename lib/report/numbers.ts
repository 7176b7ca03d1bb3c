// Numbers as people read them, on the page and in the terminal alike.

const MINUS = "−";

/** Three significant digits, thousands apart: 0.00123, 12.3, 4,096. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : `${MINUS}∞`;
  const size = Math.abs(value);
  const sign = value < 0 ? MINUS : "";
  if (size === 0) return "0";
  if (size >= 1e9 || size < 1e-4) return `${sign}${size.toExponential(1).replace("-", MINUS).replace("+", "")}`;
  if (Number.isInteger(size)) return sign + grouped(String(size));
  return sign + grouped(size >= 100 ? size.toFixed(0) : String(Number(size.toPrecision(3))));
}

/** The same with its sign always there. */
export const signedNumber = (value: number): string => (value > 0 ? `+${shortNumber(value)}` : shortNumber(value));

/** 0.374 → "37 %"; what is neither nothing nor all is not rounded to it. */
export function percent(share: number): string {
  const rounded = Math.round(share * 100);
  if (rounded === 0 && share > 0) return "< 1 %";
  if (rounded === 100 && share < 1) return "> 99 %";
  return `${rounded} %`;
}

/** "1 rollout", "4,096 tokens". */
export const counted = (count: number, one: string): string =>
  `${grouped(String(count))} ${one}${count === 1 ? "" : "s"}`;

const grouped = (digits: string): string => digits.replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ",");
