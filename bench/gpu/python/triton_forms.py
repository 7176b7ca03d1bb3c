"""Straightforward Triton kernels, as somebody writes them in an afternoon: one program a row, a loop over blocks."""

import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(logits, targets, logprob, entropy, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    base = logits + row * vocab
    top, total, weighted = -float("inf"), 0.0, 0.0
    for begin in range(0, vocab, BLOCK):
        place = begin + tl.arange(0, BLOCK)
        x = tl.load(base + place, mask=place < vocab, other=-float("inf")).to(tl.float32)
        now = tl.maximum(top, tl.max(x, 0))
        shrink = tl.exp(top - now)
        e = tl.exp(x - now)
        weighted = weighted * shrink + tl.sum(tl.where(place < vocab, e * x, 0.0), 0)
        total = total * shrink + tl.sum(e, 0)
        top = now
    lse = top + tl.log(total)
    own = tl.load(base + tl.load(targets + row)).to(tl.float32)
    tl.store(logprob + row, own - lse)
    tl.store(entropy + row, lse - weighted / total)


@triton.jit
def backward_kernel(logits, targets, lse, upstream, grad, vocab, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(logits + row * vocab + place, mask=place < vocab, other=0.0).to(tl.float32)
    a = tl.load(upstream + row)
    p = tl.exp(x - tl.load(lse + row))
    out = a * (tl.where(place == tl.load(targets + row), 1.0, 0.0) - p)
    tl.store(grad + row * vocab + place, out, mask=place < vocab)


@triton.jit
def normalize_kernel(values, out, count, SIZE: tl.constexpr, GROUPS: tl.constexpr):
    group = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    place = group[:, None] * SIZE + tl.arange(0, SIZE)[None]
    x = tl.load(values + place, mask=place < count, other=0.0)
    centred = x - tl.sum(x, 1)[:, None] / SIZE
    std = tl.sqrt(tl.sum(centred * centred, 1) / (SIZE - 1))
    tl.store(out + place, centred / (std[:, None] + 1e-6), mask=place < count)


@triton.jit
def sequence_kernel(current, old, mask, advantage, grad, ratio, steps, low, high, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total, count = 0.0, 0.0
    for begin in range(0, steps, BLOCK):
        place = begin + tl.arange(0, BLOCK)
        keep = tl.load(mask + row * steps + place, mask=place < steps, other=0).to(tl.float32)
        d = tl.load(current + row * steps + place, mask=place < steps, other=0.0) - tl.load(old + row * steps + place, mask=place < steps, other=0.0)
        total += tl.sum(d * keep, 0)
        count += tl.sum(keep, 0)
    count = tl.maximum(count, 1.0)
    r = tl.exp(total / count)
    a = tl.load(advantage + row)
    banded = tl.minimum(tl.maximum(r, low), high)
    slope = tl.where(r * a <= banded * a, a * r / count, 0.0)
    tl.store(ratio + row, r)
    for begin in range(0, steps, BLOCK):
        place = begin + tl.arange(0, BLOCK)
        keep = tl.load(mask + row * steps + place, mask=place < steps, other=0).to(tl.float32)
        tl.store(grad + row * steps + place, slope * keep, mask=place < steps)


def forward(t):
    rows, vocab = t["logits"].shape
    out = {key: torch.empty(rows, device=t["logits"].device) for key in ("log_probs", "entropies")}
    forward_kernel[(rows,)](t["logits"], t["targets"], out["log_probs"], out["entropies"], vocab, BLOCK=min(4096, triton.next_power_of_2(vocab)), num_warps=8)
    return out


def backward(t):
    rows, vocab = t["logits"].shape
    grad = torch.empty_like(t["logits"])
    lse = t["max_logits"] + t["log1p_sums"]
    backward_kernel[(rows, triton.cdiv(vocab, 4096))](t["logits"], t["targets"], lse, t["grad_log_probs"], grad, vocab, BLOCK=4096, num_warps=8)
    return {"grad_logits": grad}


def normalize(t):
    values, size = t["values"], t["size"]
    out = torch.empty_like(values)
    groups = max(1, 1024 // size)
    normalize_kernel[(triton.cdiv(values.numel(), size * groups),)](values, out, values.numel(), SIZE=size, GROUPS=groups)
    return {"normalized": out}


def sequence(t):
    rows, steps = t["log_probs"].shape
    out = {"grad_log_probs": torch.empty_like(t["log_probs"]), "ratios": torch.empty(rows, device=t["log_probs"].device)}
    sequence_kernel[(rows,)](t["log_probs"], t["old_log_probs"], t["mask"], t["advantages"], out["grad_log_probs"], out["ratios"], steps, 0.9997, 1.0004, BLOCK=2048, num_warps=8)
    return out


FORMS = {"forward": forward, "backward": backward, "normalize": normalize, "sequence": sequence}
