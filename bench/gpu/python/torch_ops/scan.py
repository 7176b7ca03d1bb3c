"""Scans along rows of tokens, as loops over time of whole columns."""

import torch

from .check import Check, F32
from .data import B, Data, dot_mask, ROWS, T

GAMMA, LAMBDA = 0.99, 0.95


def skip_loop(kept, step, carry):
    """`step(t, carry)` → (outputs of column t, next carry), from the right; a masked token leaves the carry alone."""
    columns = [None] * T
    for t in reversed(range(T)):
        outputs, after = step(t, carry)
        keep = kept[:, t]
        carry = tuple(torch.where(keep, new, old) for new, old in zip(after, carry))
        columns[t] = tuple(torch.where(keep, out, torch.zeros_like(out)) for out in outputs)
    return [torch.stack([column[i] for column in columns], 1) for i in range(len(columns[0]))]


def checks(device):
    data = Data(device)
    kept, f32 = data.kept, torch.float32
    reward, value, bootstrap = data.normal(B, T), data.normal(B, T), data.normal(B)
    r, v, last = reward.double(), value.double(), bootstrap.double()
    zero = torch.zeros(B, dtype=torch.float64, device=device)
    long = (2e-6, 2e-6)

    def gae(t, carry):
        after, advantage = carry
        now = r[:, t] + GAMMA * after - v[:, t] + GAMMA * LAMBDA * advantage
        return (now, now + v[:, t]), (v[:, t], now)

    advantages, returns = skip_loop(kept, gae, (last, zero))
    inputs = {"rewards": reward, "values": value, "bootstrap": bootstrap, "mask": data.mask}
    numbers = {"dtype": "SRP_F32", **ROWS, "gamma": GAMMA, "lambda": LAMBDA, "mask_mode": "SRP_MASK_SKIP", "transform_masked": 0}
    outputs = {"advantages": (advantages, f32, long), "returns": (returns, f32, long)}
    yield Check("scan_gae", "padded, with holes", inputs, numbers, outputs)

    # The same rows packed: what is kept of each, end to end, without a mask.
    lengths = kept.sum(1)
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]).int()
    packed = {"rewards": reward[kept], "values": value[kept], "bootstrap": bootstrap, "offsets": offsets}
    numbers = {**numbers, "n": int(lengths.sum()), "T": 0}
    yield Check("scan_gae", "packed", packed, numbers, {"advantages": (advantages[kept], f32, long), "returns": (returns[kept], f32, long)})

    def discounted(t, carry):
        now = r[:, t] + GAMMA * carry[0]
        return (now,), (now,)

    (sums,) = skip_loop(kept, discounted, (last,))
    numbers = {"dtype": "SRP_F32", **ROWS, "gamma": GAMMA, "mask_mode": "SRP_MASK_SKIP", "transform_masked": 0}
    yield Check("scan_returns", "with bootstrap", {"rewards": reward, "bootstrap": bootstrap, "mask": data.mask}, numbers, {"returns": (sums, f32, long)})

    weight = data.uniform(B, T, low=0.2, high=2.0)
    w = weight.double()

    def vtrace(t, carry):
        after, target, accumulated = carry
        delta = w[:, t].clamp(max=1.0) * (r[:, t] + GAMMA * after - v[:, t])
        now = delta + GAMMA * LAMBDA * w[:, t].clamp(max=0.9) * accumulated
        advantage = w[:, t].clamp(max=1.1) * (r[:, t] + GAMMA * target - v[:, t])
        return (v[:, t] + now, advantage), (v[:, t], v[:, t] + now, now)

    targets, advantages = skip_loop(kept, vtrace, (last, last, zero))
    inputs = {"rewards": reward, "values": value, "weights": weight, "bootstrap": bootstrap, "mask": data.mask}
    numbers = {"dtype": "SRP_F32", **ROWS, "gamma": GAMMA, "lambda": LAMBDA, "rho_bar": 1.0, "c_bar": 0.9, "pg_rho_bar": 1.1, "mask_mode": "SRP_MASK_SKIP", "delta": "SRP_DELTA_CORRECTED"}
    yield Check("scan_vtrace", "three caps", inputs, numbers, {"targets": (targets, f32, long), "advantages": (advantages, f32, long)})

    def tail(t, carry):
        now = r[:, t] + GAMMA * carry[0]
        return (now,), (now,)

    (tails,) = skip_loop(kept, tail, (zero,))
    # Powers count from the row's begin, not from the token: gamma^p(i) over all of them.
    before = (kept.cumsum(1) - 1).double()
    tails = tails * torch.where(kept, GAMMA**before, torch.zeros_like(tails))
    numbers = {"dtype": "SRP_F32", **ROWS, "gamma": GAMMA, "mask_mode": "SRP_MASK_SKIP", "normalize": 0, "masked_weight": 0.0}
    yield Check("scan_tail", "discounted", {"values": reward, "mask": data.mask}, numbers, {"tails": (tails, f32, long)})

    terms = dot_mask(r, kept)
    outputs = {"terms": (terms, f32, F32), "sums": (dot_mask(terms.cumsum(1), kept), f32, long)}
    yield Check("scan_prefix", "inclusive", {"values": reward, "mask": data.mask}, {"dtype": "SRP_F32", **ROWS, "exclusive": 0}, outputs)

    sizes = terms.abs()
    before, whole = sizes.cumsum(1) - sizes, sizes.sum(1, keepdim=True)
    weights = dot_mask(1 + 0.5 * (1 - before / whole.clamp(min=1e-8)), kept)
    outputs = {"weights": (weights, f32, F32), "products": (weights * terms, f32, F32)}
    yield Check("scan_shares", "what is left", {"values": reward, "mask": data.mask}, {"dtype": "SRP_F32", **ROWS, "gain": 0.5, "epsilon": 1e-8}, outputs)
