"""Logits to log-probs and entropies, back, by shards; and the loss between them."""

import torch

from .check import Check, SRP
from .data import Data

N = 19
TEMPERATURE, SCALE = 0.7, 1.0


def rows(data, vocab, dtype):
    logits = data.normal(N, vocab, scale=2.5)
    logits[1] *= 0.1
    logits[2, 5] = 30.0  # nearly deterministic
    logits[3, ::2] = -float("inf")
    targets = data.integers(1, vocab // 2, N) * 2 - 1
    targets[2] = 5
    return logits.to(dtype), targets


def definition(logits, targets):
    """Log-probs, entropies, log-sum-exp and sum of squares in float64, differentiable."""
    z = logits / TEMPERATURE
    logs = torch.log_softmax(z, -1)
    p = logs.exp()
    zero = torch.zeros_like(p)
    entropy = -(torch.where(p > 0, p * torch.where(p > 0, logs, zero), zero)).sum(-1)
    chosen = logs.gather(1, targets.long()[:, None])[:, 0]
    return chosen, entropy, torch.logsumexp(z, -1), (p * p).sum(-1), z


def checks(device):
    data = Data(device)
    near = (1e-9, 1.2e-6)  # |d| <= 1e-6 |x|, and the result's own rounding
    f32 = torch.float32
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for vocab in (1000, 4096, 32003):
            logits, targets = rows(data, vocab, dtype)
            wide = logits.double().requires_grad_()
            chosen, entropy, lse, squares, z = definition(wide, targets)
            numbers = {"dtype": SRP[dtype], "N": N, "V": vocab, "stride": vocab, "K": 1, "temperature": TEMPERATURE, "scale": SCALE, "softcap": 0.0}
            title = "%s, V %d" % (str(dtype).split(".")[1], vocab)
            top = logits.double().max(-1).values
            exact = torch.log1p(torch.expm1(lse - top / TEMPERATURE).clamp(min=0)).detach()
            gap = (entropy - (lse - top / TEMPERATURE)).detach()
            outputs = {
                "log_probs": (chosen.detach(), f32, near),
                "entropies": (entropy.detach(), f32, near),
                "log_sum_exps": (lse.detach(), f32, (1e-6, 1e-6)),
                "sum_squares": (squares.detach(), f32, (1e-9, 2e-6)),
                "max_logits": (top, f32, (0.0, 0.0)),
            }
            yield Check("logprob_forward", title, {"logits": logits, "targets": targets}, numbers, outputs)

            a, h = data.normal(N), data.normal(N)
            (gradient,) = torch.autograd.grad((a.double() * chosen + h.double() * entropy).sum(), wide)
            gradient = torch.nan_to_num(gradient, nan=0.0)
            p = torch.softmax(z, -1).detach()
            largest = torch.maximum(a.double().abs(), h.double().abs() * (p * (torch.log(p.clamp(min=1e-300)) + entropy.detach()[:, None])).abs().max(-1).values)
            rounding = {torch.float32: 1e-7, torch.float16: 1e-3, torch.bfloat16: 8e-3}[dtype]
            bound = 4e-6 * largest[:, None] / TEMPERATURE + (6e-8 if dtype == torch.float16 else 0)
            backward = {**numbers, "vocab_start": 0, "vocab_size": vocab}
            inputs = {"logits": logits, "targets": targets, "max_logits": top.float(), "log1p_sums": exact.float(), "mean_gaps": gap.float(), "grad_log_probs": a, "grad_entropies": h}
            yield Check("logprob_backward", title, inputs, backward, {"grad_logits": (gradient, dtype, (bound, rounding))})
            yield from kept_checks(data, dtype, logits, targets, {**numbers, "title": title}, rounding)

    logits, targets = rows(data, 4096, f32)
    chosen, entropy, lse, squares, _ = definition(logits.double(), targets)
    states, begins = [], (0, 1500, 4096)
    for begin, end in zip(begins, begins[1:]):
        part = logits[:, begin:end].contiguous()
        state = shard_state(part.double() / TEMPERATURE, part.double(), targets.long() - begin)
        states.append(state)
        numbers = {"dtype": "SRP_F32", "N": N, "V": end - begin, "stride": end - begin, "K": 1, "vocab_start": begin, "vocab_size": 4096, "temperature": TEMPERATURE, "scale": SCALE, "softcap": 0.0}
        yield Check("logprob_partial", "columns %d to %d" % (begin, end), {"logits": part, "targets": targets}, numbers, {"states": (state, torch.float64, (1e-9, 2e-6))})
    inputs = {"states": torch.stack(states)}
    numbers = {"P": 2, "N": N, "K": 1, "temperature": TEMPERATURE, "scale": SCALE, "softcap": 0.0}
    outputs = {"log_probs": (chosen, f32, near), "entropies": (entropy, f32, near), "log_sum_exps": (lse, f32, (1e-6, 1e-6)), "sum_squares": (squares, f32, (1e-9, 2e-6))}
    yield Check("logprob_merge", "two shards", inputs, numbers, outputs)


def kept_checks(data, dtype, logits, targets, given, rounding):
    """Log-probs over 40 ids of each row and the target, and the gradient, that of the entropy of all ids in it."""
    near, f32 = (1e-9, 1.2e-6), torch.float32
    title, vocab = given["title"] + ", kept ids", given["V"]
    lists = [[(37 * n + 101 * k) % vocab for k in range(40)] for n in range(N)]
    wide = logits.double().requires_grad_()
    _, entropy, lse, _, z = definition(wide, targets)
    sets = [sorted(set(ids + [int(target)])) for ids, target in zip(lists, targets)]
    over = torch.stack([torch.logsumexp(z[n, ids], -1) for n, ids in enumerate(sets)])
    chosen = z.gather(1, targets.long()[:, None])[:, 0] - over
    tops = torch.stack([logits[n, ids].double().max() for n, ids in enumerate(sets)])
    rest = (over - tops / TEMPERATURE).detach()
    ids = torch.tensor(sum(lists, []), dtype=torch.int32, device=logits.device)
    offsets = torch.arange(N + 1, dtype=torch.int32, device=logits.device) * 40
    numbers = {**given, "K": len(ids)}
    del numbers["title"]
    inputs = {"logits": logits, "targets": targets, "ids": ids, "offsets": offsets}
    outputs = {"log_probs": (chosen.detach(), f32, near), "max_logits": (tops, f32, (0.0, 0.0)), "log1p_sums": (rest, f32, (1e-9, 2e-6))}
    yield Check("logprob_kept_forward", title, inputs, numbers, outputs)

    a, h = data.normal(N), data.normal(N)
    (gradient,) = torch.autograd.grad((a.double() * chosen + h.double() * entropy).sum(), wide)
    top = logits.double().max(-1).values
    exact = torch.log1p(torch.expm1(lse - top / TEMPERATURE).clamp(min=0)).detach()
    gap = (entropy - (lse - top / TEMPERATURE)).detach()
    state = {"kept_max_logits": tops.float(), "kept_log1p_sums": rest.float(), "max_logits": top.float(), "log1p_sums": exact.float(), "mean_gaps": gap.float()}
    bound = 4e-6 * (a.double().abs() + 2 * h.double().abs())[:, None] / TEMPERATURE + (6e-8 if dtype == torch.float16 else 0)
    wanted = {"grad_logits": (torch.nan_to_num(gradient, nan=0.0), dtype, (bound, rounding))}
    yield Check("logprob_kept_backward", title, {**inputs, **state, "grad_log_probs": a, "grad_entropies": h}, numbers, wanted)


def shard_state(z, raw, targets):
    """(largest raw logit, S', W, sum of squared terms, raw target logit) of a shard; the first largest is left out of the sums."""
    top, place = raw.max(-1)
    y = z - z.max(-1, keepdim=True).values
    e = y.exp()
    e.scatter_(1, place[:, None], 0.0)
    inside = (targets >= 0) & (targets < raw.shape[1])
    own = raw.gather(1, targets.clamp(0, raw.shape[1] - 1)[:, None])[:, 0]
    own = torch.where(inside, own, torch.full_like(own, float("inf")))
    weighted = torch.where(e > 0, e * torch.where(e > 0, y, torch.zeros_like(y)), torch.zeros_like(y))
    return torch.stack([top, e.sum(-1), weighted.sum(-1), (e * e).sum(-1), own], -1)
