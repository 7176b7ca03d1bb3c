"""Spans between delimiters, their means and masks, n-grams."""

import torch

from .check import Check, EXACT
from .data import B, Data, ROWS, T

START, END = (3, 4), (5,)


def find(tokens):
    """[row, begin, finish] by comparing shifted views, then pairing each start with the next end."""
    width = len(START)
    starts = torch.ones_like(tokens, dtype=torch.bool)
    for i, token in enumerate(START):
        starts &= torch.cat([tokens[:, i:], torch.full_like(tokens[:, :i], -1)], 1) == token
    ends = tokens == END[0]
    found = []
    for row in range(tokens.shape[0]):
        places, closed, resume = starts[row].nonzero()[:, 0].tolist(), ends[row].nonzero()[:, 0].tolist(), 0
        for place in places:
            if place < resume:
                continue
            after = [end for end in closed if end >= place + width]
            if not after:
                break
            found.append((row, place + width, after[0] + 1))
            resume = after[0] + 1
    return torch.tensor(found, dtype=torch.int32, device=tokens.device).reshape(-1, 3)


def checks(device):
    data = Data(device)
    tokens = data.integers(0, 9, B, T)
    spans = find(tokens)
    count, capacity = spans.shape[0], spans.shape[0]

    def ids(values):
        return torch.tensor(values, dtype=torch.int32, device=device)

    inputs = {"tokens": tokens, "start_ids": ids(START), "start_offsets": ids([0, len(START)]), "end_ids": ids(END), "end_offsets": ids([0, len(END)])}
    numbers = {"dtype": "SRP_I32", **ROWS, "start_count": 1, "end_count": 1, "head_count": 0, "start_size": len(START), "end_size": len(END), "head_size": 0, "capacity": capacity, "overlapping": 0, "include_end": "SRP_END_ALL", "unterminated_keep": 0, "starts_open": 0}
    outputs = {"spans": (spans, torch.int32, EXACT), "count": (torch.tensor([count], device=device), torch.int64, EXACT)}
    yield Check("delim_spans", "%d spans" % count, inputs, numbers, outputs)
    yield Check("delim_spans", "%d spans, int64 tokens" % count, {**inputs, "tokens": tokens.long()}, {**numbers, "dtype": "SRP_I64"}, outputs)

    values = data.normal(B, T)
    sums = torch.cat([torch.zeros(B, 1, dtype=torch.float64, device=device), values.double().cumsum(1)], 1)
    row, begin, finish = (spans[:, i].long() for i in range(3))
    means = (sums[row, finish] - sums[row, begin]) / (finish - begin)
    yield Check("delim_means", "float32", {"values": values, "spans": spans}, {"dtype": "SRP_F32", **ROWS, "S": count}, {"means": (means, torch.float64, (1e-11, 1e-11))})

    place = torch.arange(T, device=device)
    inside = torch.zeros(B, T, dtype=torch.bool, device=device)
    for one in range(count):
        inside[row[one]] |= (place >= begin[one]) & (place < finish[one])
    yield Check("delim_mask", "spans", {"spans": spans}, {**ROWS, "S": count}, {"mask": (inside.to(torch.uint8), torch.uint8, EXACT)})

    length = 3
    grams = tokens.unfold(1, length, 1)
    keep = data.kept.unfold(1, length, 1).all(-1)
    counts = torch.stack([torch.tensor([int(keep[b].sum()), len(set(map(tuple, grams[b][keep[b]].tolist())))]) for b in range(B)])
    yield Check("delim_ngrams", "trigrams", {"tokens": tokens, "mask": data.mask}, {**ROWS, "length": length}, {"counts": (counts.to(device), torch.int32, EXACT)})
