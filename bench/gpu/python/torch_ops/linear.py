"""A linear head and the log-probs of its logits."""

import torch

from .check import Check, SRP
from .data import Data

N, D, V = 37, 296, 1300  # D: more than a part of a sum on tensor cores


def checks(device):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        yield from checks_of(Data(device), dtype, "SRP_SUMS_FLOAT32")
    yield from checks_of(Data(device), torch.float32, "SRP_SUMS_BFLOAT16X3")


def checks_of(data, dtype, sums):
    in_parts, f32 = sums == "SRP_SUMS_BFLOAT16X3", torch.float32
    title = str(dtype).split(".")[1] + (" in parts" if in_parts else "")
    hidden, weight, bias = (tensor.to(dtype) for tensor in (data.normal(N, D), data.normal(V, D, scale=0.1), data.normal(V)))
    targets, a, h = data.integers(0, V, N), data.normal(N), data.normal(N)
    leaves = [tensor.double().requires_grad_() for tensor in (hidden, weight, bias)]
    logits = leaves[0] @ leaves[1].T + leaves[2]
    logs = torch.log_softmax(logits, -1)
    chosen, entropy = logs.gather(1, targets.long()[:, None])[:, 0], -(logs.exp() * logs).sum(-1)
    gradients = torch.autograd.grad((a.double() * chosen + h.double() * entropy).sum(), leaves)
    top = logits.max(-1).values.detach()
    lse = torch.logsumexp(logits, -1).detach()
    # What linear.h promises of a logit, of the sum of its terms' absolute values.
    on_tensor_cores = min(D, 256) * 3e-8 + D * 2.4e-10
    promised = 1.2e-5 + on_tensor_cores + D * 4.8e-10 if in_parts else 2e-6 if dtype == f32 else on_tensor_cores
    off = promised * float((hidden.double().abs() @ weight.double().abs().T).max()) + 1e-6
    inputs = {"hidden": hidden, "weight": weight, "bias": bias, "targets": targets}
    numbers = {"dtype": SRP[dtype], "N": N, "D": D, "V": V, "padded": V, "chunk_rows": 0, "sums": sums, "temperature": 1.0, "scale": 1.0, "softcap": 0.0}
    near = (off, 1e-6)
    outputs = {
        "log_probs": (chosen.detach(), f32, near),
        "entropies": (entropy.detach(), f32, (2 * off, 1e-6)),
        "log_sum_exps": (lse, f32, near),
        "max_logits": (top, torch.float64, near),
    }
    yield Check("linear_forward", title, inputs, numbers, outputs)

    state = {"max_logits": top, "log1p_sums": lse - top, "mean_gaps": (entropy.detach() - (lse - top))}
    inputs = {**inputs, **state, "grad_log_probs": a, "grad_entropies": h}
    # p is off by twice what a logit is, its gradient by as much of what it is made of.
    p, by = torch.exp(logs).detach(), (a.double().abs()[:, None], h.double().abs()[:, None])
    parts = by[0] * p + by[1] * p * (logs.detach().abs() + entropy.detach()[:, None] + 1)
    share = (2e-5 if in_parts else 3e-6 if dtype == f32 else 1.4e-5) + 2 * off
    bounds = {
        "hidden": (share * (parts @ weight.double().abs()) + 1e-7, 2.0**-8 if dtype == torch.bfloat16 else 2.0**-11 if dtype == torch.float16 else 1e-6),
        "weight": (share * (parts.T @ hidden.double().abs()) + 1e-7, 1e-6),
        "bias": (share * parts.sum(0) + 1e-7, 1e-6),
    }
    kinds = {"hidden": dtype, "weight": f32, "bias": f32}
    outputs = {"grad_" + name: (gradient, kinds[name], bounds[name]) for name, gradient in zip(kinds, gradients)}
    yield Check("linear_backward", title, inputs, {**numbers, "vocab_start": 0, "vocab_size": numbers["V"], "accumulate": 0}, outputs)
