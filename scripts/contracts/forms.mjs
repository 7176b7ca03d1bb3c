// Forms: the enumerators of a choice between formulas, with what each computes and which options it reads, as their comments say:
//
//   loss; g = slope; needs a, b; takes c
//
// where a, b and c are fields of the header: numbers of an embedded struct, or arrays of an op.
import { Refusal } from "./refusal.mjs";

const CLAUSE = /^(needs|takes) (.*)$/;

/** Whether the comments of an enum say which options its words read. */
export const isOfForms = ({ items }) =>
  items.some(({ comment }) => clausesOf(comment).some((text) => CLAUSE.test(text)));

const clausesOf = (comment) => comment.split("; ");

const listed = (clauses, of) =>
  clauses.flatMap((text) => {
    const [, word, names] = CLAUSE.exec(text) ?? [];
    return word === of ? names.split(", ") : [];
  });

/** {loss, slope, words, needs, takes}: `words` is the comment without the options. */
export function formOf({ comment }) {
  const clauses = clausesOf(comment);
  const words = clauses.filter((text) => !CLAUSE.test(text)).join("; ");
  const [loss, slope = ""] = words.split("; g = ");
  return { loss, slope, words, needs: listed(clauses, "needs"), takes: listed(clauses, "takes") };
}

/** The struct whose numbers the forms of an enum read, and the arrays that they read: fields by name. */
export function optionsOf(choice, structs, ops) {
  const names = [...new Set(choice.items.map(formOf).flatMap(({ needs, takes }) => [...needs, ...takes]))];
  const arrays = new Map(
    ops
      .filter(({ struct }) => struct.file === choice.file)
      .reverse() // of arrays of one name, that of the first op stays
      .flatMap((op) => op.arrays.map((array) => [array.name, array])),
  );
  const numbers = [...structs.values()].find(
    ({ file, name, fields }) =>
      file === choice.file &&
      !name.endsWith("_args") &&
      names.some((option) => fields.some((field) => field.name === option)),
  );
  const known = (name) => arrays.has(name) || numbers?.fields.some((field) => field.name === name);
  const unknown = names.find((name) => !known(name));
  if (unknown)
    throw new Refusal(
      choice,
      `a form of ${choice.name} reads ${unknown}`,
      "a number of one struct, or an array of an op",
    );
  return { numbers, arrays };
}

/** {min, above, infinite, default} as the comment of a number begins: `> 1, infinity = off`, `>= 0`, `> 0, 1 where not read`. */
export function rangeOf({ comment }) {
  const [, over, min] = /^(>=?) (\d+)/.exec(comment) ?? [];
  const infinite = /^[^:]*infinity = off/.test(comment);
  const [, given] = /^[^:]*\b(\d+) where not read/.exec(comment) ?? [];
  return {
    range: {
      ...(min && { min: Number(min) }),
      ...(over === ">" && { above: true }),
      ...(infinite && { infinite: true }),
    },
    default: infinite ? "Infinity" : (given ?? "0"),
  };
}
