"""How far two policies are apart, and bounded weights."""

import torch

from .check import Check, F32, F64, EXACT
from .data import B, Data, dot_mask, ROWS, T
from .reduce import moments

STATISTICS = {
    "K1": lambda d: -d,
    "K2": lambda d: d * d / 2,
    "K3": lambda d: torch.expm1(d) - d,
    "RATIO": torch.exp,
}


def checks(device):
    data = Data(device)
    old = data.log_probs(B, T)
    current = old + data.normal(B, T, scale=0.4)
    d, kept = (current.double() - old.double()).clamp(-20, 20), data.kept
    low, high = 0.6, 1.5
    for name, statistic in STATISTICS.items():
        x = statistic(d)
        inputs = {"log_probs": current, "old_log_probs": old, "mask": data.mask}
        numbers = {"dtype": "SRP_F32", **ROWS, "statistic": "SRP_STATISTIC_" + name, "log_clamp": 20.0, "low": low, "high": high}
        outputs = {
            "moments": (moments(x, kept), torch.float64, F64),
            "bounded": (moments(x.clamp(low, high), kept), torch.float64, F64),
            "differences": (dot_mask(d, kept).sum(1), torch.float64, F64),
            "above": (((x > high) & kept).sum(1), torch.int32, EXACT),
            "below": (((x < low) & kept).sum(1), torch.int32, EXACT),
        }
        yield Check("correction_measure", name, inputs, numbers, outputs)
        inside = kept & (x >= low) & (x <= high)
        weights = torch.where(inside, x, torch.zeros_like(x))
        outputs = {"weights": (weights, torch.float32, F32), "kept": (inside.to(torch.uint8), torch.uint8, EXACT), "kept_counts": (inside.sum(1), torch.int32, EXACT)}
        yield Check("correction_bound", name, inputs, {**numbers, "outside": "SRP_OUTSIDE_ZERO", "masked_weight": 0.0}, outputs)
