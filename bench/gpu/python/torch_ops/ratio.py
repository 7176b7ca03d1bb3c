"""Log ratios by token, sequence and group."""

import torch

from .check import Check, F32
from .data import B, Data, dot_mask, GROUPS, ROWS, T


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
    data, f32 = Data(device), torch.float32
    old = data.log_probs(B, T)
    current = old + data.normal(B, T, scale=0.3)
    for level in ("TOKEN", "SEQUENCE", "GROUP"):
        groups = {"group_offsets": data.group_offsets} if level == "GROUP" else {}
        x = log_ratios(current.double(), old.double(), data, level)
        ratio = x.exp()
        if level == "TOKEN":
            ratio = dot_mask(ratio, data.kept)
        numbers = {"dtype": "SRP_F32", **ROWS, "G": GROUPS if level == "GROUP" else 0, "level": "SRP_LEVEL_" + level, "reduce": "SRP_REDUCE_MEAN"}
        inputs = {"log_probs": current, "old_log_probs": old, "mask": data.mask, **groups}
        yield Check("ratio_log", level.lower(), inputs, numbers, {"log_ratios": (x, f32, F32), "ratios": (ratio, f32, F32)})
