"""Arrays that the checks share: the same numbers on every machine, made on the host and moved."""

import torch

B, T = 24, 257
GROUPS = 5


class Data:
    """Rows of tokens with a ragged mask that has holes, and groups of rows of unequal size."""

    def __init__(self, device, seed=7):
        self.generator = torch.Generator().manual_seed(seed)
        self.device = device
        lengths = torch.randint(1, T + 1, (B,), generator=self.generator)
        lengths[0], lengths[1] = T, 0  # a full row, and one where nothing is kept
        kept = torch.arange(T)[None] < lengths[:, None]
        kept &= torch.rand(B, T, generator=self.generator) > 0.1
        self.kept = kept.to(device)
        self.mask = self.kept.to(torch.uint8)
        sizes = [8, 1, 0, 4, 11]
        self.group_offsets = torch.tensor([0, 8, 9, 9, 13, 24], dtype=torch.int32, device=device)
        self.group = torch.repeat_interleave(torch.arange(GROUPS), torch.tensor(sizes)).to(device)
        self.offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)]).to(torch.int32).to(device)

    def normal(self, *shape, dtype=torch.float32, scale=1.0):
        return (torch.randn(*shape, generator=self.generator) * scale).to(dtype).to(self.device)

    def uniform(self, *shape, low=0.0, high=1.0, dtype=torch.float32):
        return (torch.rand(*shape, generator=self.generator) * (high - low) + low).to(dtype).to(self.device)

    def integers(self, low, high, *shape, dtype=torch.int32):
        return torch.randint(low, high, shape, generator=self.generator).to(dtype).to(self.device)

    def log_probs(self, *shape):
        return -self.uniform(*shape, low=0.01, high=4.0)


ROWS = {"n": B * T, "B": B, "T": T}


def dot_mask(values, kept):
    """0 under the mask, whatever is there."""
    return torch.where(kept, values, torch.zeros_like(values))


def per_group(values, group, count):
    """Values of each group as a list of tensors, in item order."""
    return [values[group == g] for g in range(count)]
