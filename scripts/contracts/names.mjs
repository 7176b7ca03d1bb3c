// Names of the headers as TypeScript spells them.

const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** mask_mode → maskMode; a capital letter (B, T, G) stays as it is. */
export const camelCase = (snake) => snake.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

/** srp_mask_mode → MaskMode, srp_scan_gae_args → ScanGaeArgs. */
export const typeName = (name) => name.replace(/^srp_/, "").split("_").map(capital).join("");

/** LEAVE_ONE_OUT → leaveOneOut. */
export const word = (constant) => camelCase(constant.toLowerCase());

/** The families of ops, each once, in their order. */
export const familiesOf = (ops) => [...new Set(ops.map(({ family }) => family))];

/** nan_policy → nan_policies, include_end → include_ends; a name that ends in s is a plural already. */
export const plural = (name) =>
  name.endsWith("s") ? name : name.endsWith("y") ? `${name.slice(0, -1)}ies` : `${name}s`;
