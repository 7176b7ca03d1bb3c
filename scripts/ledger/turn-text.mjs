// What the ledger says of a hot loop:
//
//   // turn      32 of forward_kernel<BFloat16, false, false>: 64 loaded, 32 special; 2 bytes; at most 11; must 0.85; before 10.4
//
// A turn of that instance takes 32 elements of a thread and loads at least 64 bytes, with 32 special-function operations; the least
// way through the code that does so has at most 11 instructions an element ("at most 11, 12 on sm_89": where the limits differ). 2
// bytes are what memory must move for an element. Before the colon may stand what the turn is of: "GAE: 15 of ...".
//
//   +             between ways, whose costs are added; "3 x" before one says how often it is taken for the turn's elements
//   no stored     a way has none of these
//   whole         a way from the kernel's begin to its end
//   inner 7       how often loops inside of a way turn
//
// And behind bytes and limit, in any order:
//
//   must          the share of the memory's speed that is the goal (bench/gpu/goals.ts)
//   before        instructions an element of the earliest version that was counted ("before 39.3, 39.9 on sm_89"); a loop without was not counted before
//   executed      what a card executed for an element (docs/notes/gpu-h200.md)
//   ahead         bytes of a thread in flight, where that is not what one way loads
//   threads, shared   of a block of this instance, where they are not those of the kernel's entry
import { COUNTS } from "./turns.mjs";

const EXTRAS = ["must", "before", "executed", "ahead", "threads", "shared"];

/** {title, elements, instance, ways: [{times, needed, none, inner, whole}], bytes, most and before: {sm_90, sm_89}, must, ...}; throws where it is none. */
export function readTurn(text) {
  const [head, bytes, most, ...extras] = text.split("; ");
  const [, title, elements, instance, ways] = /^(?:(.+?): )?(\d+) of (.+?): (.+)$/.exec(head) ?? [];
  const limits = byArchitecture("at most", most ?? "");
  if (!ways || !limits || !/^[\d.]+ bytes$/.test(bytes))
    throw new Error(`a turn is "N of KERNEL<...>: B loaded, ...; B bytes; at most M", not ${text}`);
  return {
    title,
    elements: Number(elements),
    instance,
    ways: ways.split(" + ").map(readWay),
    bytes: parseFloat(bytes),
    most: limits,
    ...Object.fromEntries(extras.map(readExtra)),
  };
}

function readWay(text) {
  const [, times, rest] = /^(?:([\d.]+) x )?(.+)$/.exec(text);
  const way = { times: Number(times ?? 1), needed: {}, none: [], inner: 1, whole: false };
  for (const part of rest.split(", ")) {
    const [a, b] = part.split(" ");
    if (part === "whole") way.whole = true;
    else if (a === "inner") way.inner = Number(b);
    else if (a === "no" && COUNTS.includes(b)) way.none.push(b);
    else if (COUNTS.includes(b)) way.needed[b] = Number(a);
    else throw new Error(`a turn has ${COUNTS.join(", ")}, no, whole and inner, not ${part}`);
  }
  return way;
}

/** "NAME A" or "NAME A, B on sm_89"; undefined where it is neither. */
function byArchitecture(name, text) {
  const [, base, other] = new RegExp(`^${name} ([\\d.]+)(?:, ([\\d.]+) on sm_89)?$`).exec(text) ?? [];
  return base === undefined ? undefined : { sm_90: Number(base), sm_89: Number(other ?? base) };
}

function readExtra(text) {
  const before = byArchitecture("before", text);
  if (before) return ["before", before];
  const [name, value] = text.split(" ");
  if (!EXTRAS.includes(name)) throw new Error(`behind a turn stand ${EXTRAS.join(", ")}, not ${text}`);
  return [name, Number(value)];
}
