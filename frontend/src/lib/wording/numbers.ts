// Numbers as text, by the rules of src/headatlas/wording/numbers.py; both are tested on the same cases.
// - Only exact values are written as 0 or 1: values that round to them are written with < or >.
// - Unknown values (null, NaN, infinite) are "–".
// - The minus sign is "−"; there is no minus zero.
// - Halves are rounded away from zero.
// - Here only: no-break spaces prevent line breaks in expressions such as p = 0.013.
// - From 1,000 on, digits are grouped by commas; from 10^15 on, a power of ten is written: 1.2e15.

type Value = number | null | undefined;

const UNKNOWN = "–";
const MINUS = "−";
const HUGE = 1e15;
export const NBSP = "\u00a0"; // no-break space

const isKnown = (value: Value): value is number => typeof value === "number" && Number.isFinite(value);

/** A number with a fixed number of decimals, or as a power of ten if it is huge. */
function fixed(value: number, decimals: number): string {
  const size = Math.abs(value);
  return (value < 0 ? MINUS : "") + (size < HUGE ? grouped(size.toFixed(decimals)) : scientific(size));
}

function grouped(digits: string): string {
  const [integer, decimals] = digits.split(".");
  const groups = integer.replace(/\B(?=(\d{3})+$)/g, ",");
  return decimals === undefined ? groups : `${groups}.${decimals}`;
}

const scientific = (size: number) => size.toExponential(1).replace("+", "");

/** `<0.001` for a value that would look like 0, `>0.99` for one that would look like 1; else an empty string. */
function near(value: number, tiny: number, least: string, most: string): string {
  const size = Math.abs(value);
  if (size > 0 && size < tiny) return value > 0 ? `<${least}` : `>${MINUS}${least}`;
  if (size >= 0.995 && size < 1) return value > 0 ? `>${most}` : `<${MINUS}${most}`;
  return "";
}

/** A whole number: 1,204. */
export const count = (value: number) => fixed(value, 0);

/** `plural(1204, "map")` is 1,204 maps. */
export const plural = (value: number, noun: string) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** A share in whole percent; 0% and 100% only if exact. */
export const percent = (share: Value) =>
  isKnown(share) ? near(share, 0.005, "1%", "99%") || `${fixed(100 * share, 0)}%` : UNKNOWN;

/** A share in percent with a decimal where it is small, for shares that are close to each other. */
export const finePercent = (share: Value) =>
  isKnown(share) && share >= 0.0005 && share < 0.1 ? `${fixed(100 * share, 1)}%` : percent(share);

/** Any quantity in two significant digits, or as a whole number from 100 on; 0 and 1 only if exact. */
export function amount(value: Value): string {
  if (!isKnown(value)) return UNKNOWN;
  const size = Math.abs(value);
  const decimals = size === 0 || size === 1 ? 0 : [9.95, 0.995, 0.0995, 0.00995].filter((limit) => size < limit).length;
  return near(value, 0.001, "0.001", "0.99") || fixed(value, decimals);
}

/** A measure between −1 and 1 with two decimals; 0.00 and 1.00 only if exact. */
export const ratio = (value: Value) =>
  isKnown(value) ? near(value, 0.005, "0.01", "0.99") || fixed(value, 2) : UNKNOWN;

/** An amount with its sign. */
export const signed = (value: Value) =>
  (isKnown(value) && value > 0 && !near(value, 0.001, "0.001", "0.99") ? "+" : "") + amount(value);

function probability(p: Value): [sign: string, text: string] {
  if (!isKnown(p)) return ["=", UNKNOWN];
  if (p < 0.001) return ["<", "0.001"];
  if (p >= 0.995 && p < 1) return [">", "0.99"];
  return ["=", p >= 1 ? "1" : fixed(p, p >= 0.0995 ? 2 : 3)];
}

/** A p-value: two decimals, three below 0.1; never 0, and 1 only if exact. */
export function pValue(p: Value): string {
  const [sign, text] = probability(p);
  return sign === "=" ? text : sign + text;
}

/** A p-value in a sentence: `p = 0.013`. */
export const pEquation = (p: Value, symbol = "p") => [symbol, ...probability(p)].join(NBSP);

/** A number with its interval, if that is known: `0.93 [0.90, 0.95]`. */
export const interval = (value: Value, low: Value, high: Value, form: (value: Value) => string = ratio) =>
  isKnown(low) && isKnown(high) ? `${form(value)} [${form(low)},${NBSP}${form(high)}]` : form(value);

/** A number and its interval with as many decimals as the interval leaves: one or two digits of its half. */
export function estimate(value: Value, low: Value, high: Value, sign = false): string {
  if (!isKnown(value) || !isKnown(low) || !isKnown(high)) return (sign ? signed : amount)(value);
  const half = (high - low) / 2;
  const decimals = half > 0 ? Math.max(0, Math.min(6, 1 - Math.round(Math.log10(half)))) : 2;
  const write = (number: number) => (sign && number > 0 ? "+" : "") + fixed(Number(number.toFixed(decimals)), decimals);
  return `${write(value)} [${write(low)},${NBSP}${write(high)}]`;
}

/** A list in a sentence: `a, b, and c`. */
export const joinList = (parts: string[]) =>
  parts.length < 3 ? parts.join(" and ") : `${parts.slice(0, -1).join(", ")}, and ${parts[parts.length - 1]}`;

/** A text with its first letter in upper case. */
export const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const COLUMNS: Record<string, string> = { n_tokens: "number of tokens", n_target: "number of target tokens" };

/** A column as it is called in sentences: those that collect adds have plain names. */
export const columnName = (column: string) => (Object.hasOwn(COLUMNS, column) ? COLUMNS[column] : column);
