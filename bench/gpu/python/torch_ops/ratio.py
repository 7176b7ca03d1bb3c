"""Log ratios and the clipped objective, by token, sequence and group; gradients by autograd."""

import math

import torch

from .check import Check, F32, EXACT
from .data import B, Data, dot_mask, GROUPS, ROWS, T

LOW, HIGH = 0.2, 0.28


def log_ratios(current, old, data, level):
    d = torch.where(data.kept, current - old, torch.zeros_like(current))
    if level == "TOKEN":
        return d
    sums, counts = d.sum(1), data.kept.sum(1)
    if level == "GROUP":
        sums = torch.zeros(GROUPS, dtype=d.dtype, device=d.device).index_add(0, data.group, sums)
        counts = torch.zeros(GROUPS, dtype=counts.dtype, device=d.device).index_add(0, data.group, counts)
    return sums / counts.clamp(min=1)


def checks(device):
    data, f32, inf = Data(device), torch.float32, math.inf
    old = data.log_probs(B, T)
    current = old + data.normal(B, T, scale=0.3)
    weight = data.uniform(B, dtype=torch.float64)
    for level in ("TOKEN", "SEQUENCE", "GROUP"):
        groups = {"group_offsets": data.group_offsets} if level == "GROUP" else {}
        leaf = current.double().requires_grad_()
        x = log_ratios(leaf, old.double(), data, level)
        ratio = x.exp()
        if level == "TOKEN":
            ratio = dot_mask(ratio, data.kept)
        numbers = {"dtype": "SRP_F32", **ROWS, "G": GROUPS if level == "GROUP" else 0, "level": "SRP_LEVEL_" + level, "reduce": "SRP_REDUCE_MEAN"}
        inputs = {"current": current, "old": old, "mask": data.mask, **groups}
        yield Check("ratio_log", level.lower(), inputs, numbers, {"log_ratio": (x.detach(), f32, F32), "ratio": (ratio.detach(), f32, F32)})

        per_token = level == "TOKEN"
        advantage = data.normal(B, T) if per_token else data.normal(B)
        a = advantage.double()
        of_term = ratio[data.group] if level == "GROUP" else ratio
        banded = of_term.clamp(1 - LOW, 1 + HIGH)
        term = torch.minimum(of_term * a, banded * a)
        if per_token:
            term = dot_mask(term, data.kept)
        objective = weight * (term.sum(1) if per_token else term)
        (gradient,) = torch.autograd.grad(objective.sum(), leaf)
        clipped = banded * a < of_term * a
        if per_token:
            clipped &= data.kept
        fields = {"advantage_per_token": int(per_token), "form": "SRP_LOSS_CLIP", "clip_low": LOW, "clip_high": HIGH, "dual_clip": inf, "ratio_cap": inf, "log_clamp": inf, "max_log_ratio": inf}
        outputs = {
            "term": (term.detach(), f32, F32),
            "objective": (objective.detach(), torch.float64, (1e-9, 1e-9)),
            "grad": (dot_mask(gradient, data.kept), f32, F32),
            "clipped": (clipped.to(torch.uint8), torch.uint8, EXACT),
            "clipped_count": ((clipped.sum(1) if per_token else clipped).int(), torch.int32, EXACT),
        }
        yield Check("ratio_clip", level.lower(), {**inputs, "advantage": advantage, "row_weight": weight}, {**numbers, **fields}, outputs)
