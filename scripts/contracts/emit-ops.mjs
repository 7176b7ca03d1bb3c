// lib/backend/contract/ops.ts: all ops, how a call of each is handed to the addon, and how one is cut into fewer rows.
import { render } from "./expressions.mjs";
import { camelCase, familiesOf, typeName } from "./names.mjs";

/** lib/backend/contract/names.ts: what is asked before any call. Apart from how calls are handed over, which is long. */
export function namesFile({ ops }, hash, heading) {
  return `// ${heading("native/include/surprisal")}

/** Of the contracts that this file is made of: an addon that says another was built of others. */
export const CONTRACTS = "${hash}";

/** Every op. */
export const OP_NAMES = [${ops.map(({ name }) => JSON.stringify(camelCase(name))).join(", ")}] as const;
`;
}

export function opsFile({ ops }, heading) {
  const families = familiesOf(ops);
  const argsOf = (family) => [
    ...new Set(ops.filter((op) => op.family === family).map((op) => typeName(op.struct.name))),
  ];
  const cut = ops.filter(({ rows }) => rows);
  const imports = families.map(
    (family) => `import type { ${[...argsOf(family), `${typeName(family)}Ops`].join(", ")} } from "./${family}";`,
  );
  return `// ${heading("native/include/surprisal")}
${imports.join("\n")}

/** Every op, with the argument structs of native/include/surprisal in camelCase. Outputs are filled in place. */
export type BackendOps = ${families.map((family) => `${typeName(family)}Ops`).join(" & ")};

type Call<Answer> = (...values: unknown[]) => Answer;
type Handing<Args> = <Answer>(call: Call<Answer>, numbers: Float64Array, session: number, stop: Int32Array | null, args: Args) => Answer;

/**
 * How a call is handed to the addon: its numbers into the addon's array, its arrays as arguments, both in the order of the struct. Behind
 * the numbers stands which arrays there are, a bit each: to ask Node-API for one that is absent takes as long as to read another.
 */
export const HAND_OVER: { readonly [Op in keyof BackendOps]: Handing<Parameters<BackendOps[Op]>[0]> } = {
${ops.map(handOver).join("\n")}
};

/** Of an op whose rows are independent of each other: the field that counts them, and the elements of each array a row. */
interface Cut<Args> {
  readonly rows: keyof Args;
  readonly widths: (args: Args) => Readonly<Record<string, number>>;
}

/** The ops whose calls can be cut into fewer rows. */
export type CutOp = ${cut.map(({ name }) => JSON.stringify(camelCase(name))).join(" | ")};
export const CUT_BY_ROWS: { readonly [Op in CutOp]: Cut<Parameters<BackendOps[Op]>[0]> } = {
${cut.map(cutText).join("\n")}
};
`;
}

const member = (path) => path.split(".").map(camelCase).join(".");

/** Which arrays there are: of those that may be null it is asked. */
function bitsOf(arrays) {
  if (arrays.length > 31) throw new Error(`${arrays.length} arrays, and an int32 has room for 31 that can be absent`);
  const always = arrays.reduce((bits, { nullable }, i) => bits + (nullable ? 0 : 2 ** i), 0);
  const asked = arrays.flatMap(({ name, nullable }, i) => (nullable ? [`(a.${camelCase(name)} ? ${2 ** i} : 0)`] : []));
  return [...(always === 0 ? [] : [always]), ...asked].join(" | ");
}

function handOver({ name, struct, numbers, arrays }) {
  const values = ["session", "stop", ...arrays.map((array) => `a.${camelCase(array.name)}`)];
  return `${camelCase(name)}(call, numbers, session, stop, a: ${typeName(struct.name)}) {
${numbers.map(({ path }, i) => `numbers[${i}] = a.${member(path)};`).join("\n")}
numbers[${numbers.length}] = ${bitsOf(arrays)};
return call(${values.join(", ")});
},`;
}

function cutText({ name, rows, arrays }) {
  const spelling = {
    spell: ({ field, value, number }) => (field ? `a.${member(field)}` : String(value ?? number)),
    arithmetic: (operator, left, right) => (operator === "*" ? `${left} * ${right}` : `(${left} + ${right})`),
    equal: "===",
  };
  const widths = arrays.map((array) => {
    const width = array.extents
      .slice(1)
      .map((extent) => render(extent, spelling))
      .join(" * ");
    return `${camelCase(array.name)}: ${width || "1"},`;
  });
  return `${camelCase(name)}: { rows: "${member(rows)}", widths: (a) => ({ ${widths.join(" ")} }) },`;
}
