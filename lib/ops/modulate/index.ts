// Entropy modulation: weights per step, their application over spans, weights per sequence. docs/ops/modulate.md.
export * from "./modulate-spans";
export * from "./sequence-weights";
export * from "./step-weights";
