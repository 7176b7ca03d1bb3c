"""A linear head and the log-probs of its logits."""

import torch

from .check import Check
from .data import Data

N, D, V = 37, 96, 1300


def checks(device):
    data = Data(device)
    hidden, weight, bias = data.normal(N, D), data.normal(V, D, scale=0.2), data.normal(V)
    targets, a, h = data.integers(0, V, N), data.normal(N), data.normal(N)
    leaves = [tensor.double().requires_grad_() for tensor in (hidden, weight, bias)]
    logits = leaves[0] @ leaves[1].T + leaves[2]
    logs = torch.log_softmax(logits, -1)
    chosen, entropy = logs.gather(1, targets.long()[:, None])[:, 0], -(logs.exp() * logs).sum(-1)
    gradients = torch.autograd.grad((a.double() * chosen + h.double() * entropy).sum(), leaves)
    top = logits.max(-1).values.detach()
    lse = torch.logsumexp(logits, -1).detach()
    inputs = {"hidden": hidden, "weight": weight, "bias": bias, "targets": targets}
    numbers = {"dtype": "SRP_F32", "N": N, "D": D, "V": V, "padded": V, "chunk_rows": 0, "sums": 0, "temperature": 1.0, "scale": 1.0, "softcap": 0.0}
    near, f32 = (1e-5, 1e-5), torch.float32
    outputs = {"log_probs": (chosen.detach(), f32, near), "entropies": (entropy.detach(), f32, near), "log_sum_exps": (lse, f32, near), "max_logits": (top, torch.float64, near)}
    yield Check("linear_forward", "float32", inputs, numbers, outputs)

    state = {"max_logits": top, "log1p_sums": lse - top, "mean_gaps": (entropy.detach() - (lse - top))}
    inputs = {**inputs, **state, "grad_log_probs": a, "grad_entropies": h}
    outputs = {"grad_" + name: (gradient, f32, (3e-5, 1e-5)) for name, gradient in zip(("hidden", "weight", "bias"), gradients)}
    yield Check("linear_backward", "float32", inputs, {**numbers, "vocab_start": 0, "vocab_size": numbers["V"], "accumulate": 0}, outputs)
