// The part of docs/cuda.md about kernels that are compiled in several ways, number types aside.

import { ARCHS, perElement, turnsOf } from "./counts.mjs";
import { plainName } from "./names.mjs";
import { readTurn } from "./turn-text.mjs";

const NUMBERS = /^(float|double|int|long|Half|BFloat16)$/;
const short = (name) => name.replace(/\(anonymous namespace\)::|srp::(cuda::)?/g, "").replaceAll("> >", ">>");

/** @public Tests import it in a program of their own. "f<float, true>(int)" varies in "true"; "f<GaeScan<double>>()" in "GaeScan". */
export function variantOf(name) {
  const [, list = ""] = /^(?:void )?\w+<(.*)>\(/.exec(short(name)) ?? [];
  const bare = list.replace(/<(float|double|Half|BFloat16)>/g, "");
  return bare
    .split(/, (?![^<]*>)/)
    .filter((argument) => argument !== "" && !NUMBERS.test(argument))
    .join(", ");
}

/** `resources`: the kernels of one architecture. */
export function variantsSection(resources, ledger, { loops }) {
  const variants = new Map();
  for (const { name } of resources) {
    const plain = plainName(name);
    variants.set(plain, (variants.get(plain) ?? new Set()).add(variantOf(name)));
  }
  const counted = turnsOf(ledger);
  const counts = (name) =>
    counted
      .filter((turn) => turn.name === name)
      .flatMap(({ key }) => ARCHS.map((arch) => [arch, loops[key][arch]]))
      .map(([arch, count]) => {
        const { title, instance } = readTurn(count.of);
        const { instructions } = perElement(count);
        return `${variantOf(`${instance}(`) || "plain"}${title ? `, ${title}` : ""}: ${instructions.toFixed(1)} on ${arch}`;
      })
      .join("; ");
  const rows = [...variants]
    .filter(([, set]) => set.size > 1)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, set]) => {
      const list = [...set].sort().map((one) => `\`${one || "plain"}\``);
      return `| \`${name}\` | ${list.join(" · ")} | ${counts(name)} | ${ledger[name].variants ?? ""} |`;
    });
  return `## Kernels with variants

What a kernel is compiled for beside the types of numbers, from the last build; instructions an element of those that are counted; and why
all of them stay.

| kernel | variants | counted | why |
| --- | --- | --- | --- |
${rows.join("\n")}
`;
}
