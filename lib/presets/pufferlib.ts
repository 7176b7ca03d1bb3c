// PufferLib of October 2024 (91460f7b): advantages of a minibatch, whitened by (x − mean) / (std + 1e-8).
export const pufferlib = {
  whitenAdvantages: { ddof: 1, epsilon: 1e-8 },
} as const;
