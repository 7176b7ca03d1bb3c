// native/binding/contracts.cc: the tables by which the addon fills an args struct. Its macros are those of native/binding/field.h.
import { render } from "./expressions.mjs";
import { camelCase } from "./names.mjs";

const quoted = (text) => JSON.stringify(text);
const jsName = (path) => path.split(".").map(camelCase).join(".");

export function bindingSource({ ops }, hash, heading) {
  return `// ${heading("native/include/surprisal")}
// clang-format off
#include "field.h"

namespace srp::binding {
namespace {

${ops.map(tableOf).join("\n\n")}

}  // namespace

const char* const contracts = ${quoted(hash)};

const std::vector<Op>& all_ops() {
  // Built once and never destroyed: a call on another thread may outlive static destruction at exit.
  static const std::vector<Op>& ops = *new std::vector<Op>{
${ops.map((op) => `      ${entryOf(op)},`).join("\n")}
  };
  return ops;
}

}  // namespace srp::binding
`;
}

function tableOf({ name, struct, numbers, arrays }) {
  const lines = [
    ...numbers.map(({ path }) => `SRP_NUMBER(${path}, ${quoted(jsName(path))})`),
    ...arrays.map((array) => arrayLine(array, arrays, numbers.length)),
  ];
  return `namespace ${name} {
using Args = ${struct.name};
const Field fields[] = {
${lines.map((line) => `    ${line},`).join("\n")}
};
}  // namespace ${name}`;
}

function arrayLine(array, arrays, before) {
  const dtype = array.element ?? (array.wide ? "kWideDtype" : "kOwnDtype");
  const parts = [array.name, quoted(camelCase(array.name)), dtype, count(array.extents)];
  if (!array.output) return `SRP_INPUT(${parts.join(", ")})`;
  if (!array.sameMemoryAs) return `SRP_OUTPUT(${parts.join(", ")})`;
  const place = before + arrays.findIndex(({ name }) => name === array.sameMemoryAs);
  return `SRP_IN_PLACE(${[...parts, place].join(", ")})`;
}

/** The elements of a shape, of factors that may be negative or overflow. */
function count(extents) {
  const spelling = {
    spell: ({ field, constant, number }) => (field ? `a.${field}` : (constant ?? String(number))),
    arithmetic: (operator, left, right) => `${operator === "*" ? "times" : "plus"}(${left}, ${right})`,
    equal: "==",
  };
  return extents.map((extent) => render(extent, spelling)).reduceRight((rest, extent) => `times(${extent}, ${rest})`);
}

function entryOf({ name, numbers, rows }) {
  const parts = [name, quoted(camelCase(name)), numbers.length, rows ? `offsetof(${name}::Args, ${rows})` : 0];
  return `SRP_OP(${parts.join(", ")})`;
}
