// bench/gpu/python/contracts.json: the structs of the ABI, its numbers and its table, for ctypes.

export function jsonFile({ constants, structs, ops, table }, hash) {
  const kinds = Object.fromEntries(
    [...structs.values()]
      .filter((struct) => struct !== table && !struct.fields.some(({ kind }) => kind === "function"))
      .map((struct) => [shortName(struct.name), struct.fields.map(typed)]),
  );
  const backend = [...table.fields.map(typed), ...ops.map(({ name }) => [name, "function"])];
  const lines = Object.entries({ ...kinds, backend }).map(
    ([name, fields]) => `    ${JSON.stringify(name)}: ${JSON.stringify(fields)}`,
  );
  return `{
  "generated": "from native/include/surprisal by scripts/contracts.mjs; npm run contracts renews it",
  "abi": ${Number.parseInt(hash, 16)},
  "ops": ${JSON.stringify(ops.map(({ name }) => name))},
  "constants": ${JSON.stringify(constants)},
  "structs": {
${lines.join(",\n")}
  }
}
`;
}

const shortName = (name) => name.replace(/^srp_/, "").replace(/_args$/, "");

/** [name, type]; of an array [name, type, length]. */
function typed({ name, kind, type }) {
  if (kind === "pointer" || kind === "function") return [name, kind];
  return typeof kind === "number" ? [name, type, kind] : [name, shortName(type)];
}
