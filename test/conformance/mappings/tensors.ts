// Logits as a golden case holds them, with any number of leading dimensions: tensors that know their own shape.
import type { Inputs } from "../inputs";

export function float32Tensor(inputs: Inputs, name: string) {
  return { data: inputs.float32(name), shape: inputs.shape(name), dtype: "float32" };
}

export function float32Logits(inputs: Inputs) {
  return float32Tensor(inputs, "logits");
}

/** The same numbers as bfloat16, which they are already: the upper halves of their bits. */
export function bfloat16Logits(inputs: Inputs) {
  const floats = inputs.float32("logits");
  const halves = new Uint16Array(floats.buffer, floats.byteOffset, 2 * floats.length);
  return { data: halves.filter((_, i) => i % 2 === 1), shape: inputs.shape("logits"), dtype: "bfloat16" };
}
