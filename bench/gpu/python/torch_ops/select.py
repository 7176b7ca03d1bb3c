"""Masks of the tokens that rank highest."""

import math

import torch

from .check import Check, F64, EXACT
from .data import B, Data, ROWS, T


def top_mask(values, kept, k):
    """The k largest kept values of everything; equal ones by index (a stable sort)."""
    flat = torch.where(kept, values, torch.full_like(values, -math.inf)).flatten()
    order = torch.argsort(flat, descending=True, stable=True)[:k]
    mask = torch.zeros_like(flat, dtype=torch.bool)
    mask[order] = True
    return mask.reshape(values.shape) & kept


def checks(device):
    data = Data(device)
    values = (data.normal(B, T) * 8).round() / 8  # with many ties
    x, kept = values.double(), data.kept
    rows = {"dtype": "SRP_F32", **ROWS}
    inputs = {"values": values, "mask": data.mask}

    threshold = torch.quantile(x[kept], 0.8).reshape(1)
    outputs = {"thresholds": (threshold, torch.float64, F64), "selected": ((kept & (x >= threshold)).to(torch.uint8), torch.uint8, EXACT)}
    yield Check("select_quantile", "0.8 of everything", inputs, {**rows, "over": "SRP_OVER_ALL", "q": 0.8}, outputs)
    by_row = torch.stack([torch.quantile(x[b][kept[b]], 0.5) if bool(kept[b].any()) else x.new_tensor(math.nan) for b in range(B)])
    outputs = {"thresholds": (by_row, torch.float64, F64), "selected": ((kept & (x >= by_row[:, None])).to(torch.uint8), torch.uint8, EXACT)}
    yield Check("select_quantile", "median of rows", inputs, {**rows, "over": "SRP_OVER_ROW", "q": 0.5}, outputs)

    k = int(0.2 * int(kept.sum()))
    outputs = {"selected": (top_mask(x, kept, k).to(torch.uint8), torch.uint8, EXACT), "counts": (torch.tensor([k], device=device), torch.int32, EXACT)}
    yield Check("select_top", "a fifth of everything", inputs, {**rows, "over": "SRP_OVER_ALL", "share": 0.2, "k": 0, "least": 0}, outputs)

    advantage, current = data.normal(B, T), data.log_probs(B, T)
    a, c = advantage.double(), current.double()
    covariance = (a - a[kept].mean()) * (c - c[kept].mean())
    k = 50
    inputs = {"advantages": advantage, "log_probs": current, "mask": data.mask}
    numbers = {**rows, "advantages_per_token": 1, "mode": "SRP_COVARIANCE_TOP", "count_epsilon": 0.0, "low": 0.0, "high": 0.0, "share": math.nan, "k": k, "least": 0}
    outputs = {"selected": (top_mask(covariance, kept, k).to(torch.uint8), torch.uint8, EXACT), "counts": (torch.tensor([k], device=device), torch.int32, EXACT)}
    yield Check("select_covariance", "50 largest", inputs, numbers, outputs)
    inside = kept & (covariance > 1.0) & (covariance < 3.0)
    outputs = {"selected": (inside.to(torch.uint8), torch.uint8, EXACT)}
    yield Check("select_covariance", "a range", inputs, {**numbers, "mode": "SRP_COVARIANCE_RANGE", "low": 1.0, "high": 3.0}, outputs)
