"""Policy losses over rows of tokens and from logits, every form, with KL; gradients by autograd."""

import math

import torch

from .check import Check, EXACT, F32, SRP
from .data import B, Data, dot_mask, GROUPS, ROWS, T
from .ratio import log_ratios

LOW, HIGH, DUAL, CAP, CLAMP = 0.2, 0.28, 3.0, 2.5, 20.0
POSITIVE, NEGATIVE, COEFFICIENT = 1.0, 1.05, 0.3
KL = 0.04
INF = math.inf
PARAMETERS = {
    "clip_low": LOW, "clip_high": HIGH, "dual_clip": DUAL, "ratio_cap": CAP, "log_clamp": CLAMP, "max_log_ratio": INF,
    "temperature_positive": POSITIVE, "temperature_negative": NEGATIVE, "coefficient": COEFFICIENT,
    "shape_positive": 2.0, "rate_positive": 1.0, "shape_negative": 3.0, "rate_negative": 2.5, "count_epsilon": 0.0,
}
KL_PARAMETERS = {"times_ratio": 0, "coefficient": KL, "log_clamp": INF, "value_clamp": INF}


def clip(x, advantage):
    ratio = x.clamp(-CLAMP, CLAMP).exp()
    loss = torch.maximum(-advantage * ratio.clamp(max=CAP), -advantage * ratio.clamp(1 - LOW, 1 + HIGH))
    return torch.where(advantage < 0, torch.minimum(loss, -advantage * DUAL), loss)


def weighted(t):
    weight = t["x"].clamp(-CLAMP, CLAMP).exp().clamp(max=CAP).clamp(1 - LOW, 1 + HIGH).detach()
    return -weight * t["advantages"] * t["log_probs"]


def sigmoid(t):
    tau = torch.where(t["advantages"] > 0, torch.full_like(t["x"], POSITIVE), torch.full_like(t["x"], NEGATIVE))
    return -t["advantages"] * torch.sigmoid(tau * (t["x"].clamp(-CLAMP, CLAMP).exp() - 1)) * 4 / tau


def bounded(t):
    high, low = t["old_log_probs"] + math.log1p(HIGH), t["old_log_probs"] + math.log1p(-LOW)
    return -t["advantages"] * torch.where(t["advantages"] > 0, torch.minimum(t["log_probs"], high), torch.maximum(t["log_probs"], low))


def squared(t):
    banded = torch.maximum(torch.minimum(t["log_probs"], t["old_log_probs"] + HIGH), t["old_log_probs"] - LOW)
    return 0.5 * torch.maximum((t["log_probs"] - t["advantages"]) ** 2, (banded - t["advantages"]) ** 2)


TOKEN_FORMS = {
    "CLIP": lambda t: clip(t["x"], t["advantages"]),
    "LINEAR": lambda t: -t["advantages"] * t["log_probs"],
    "WEIGHTED": weighted,
    "SIGMOID": sigmoid,
    "MARKED": lambda t: -t["advantages"] * t["x"].exp() + torch.where(t["marks"], COEFFICIENT * t["x"].abs(), torch.zeros_like(t["x"])),
    "BOUNDED": bounded,
    "SQUARED": squared,
}

KL_FORMS = {
    "K1": lambda d: d,
    "ABS": torch.abs,
    "K2": lambda d: d * d / 2,
    "K3": lambda d: torch.expm1(-d) + d,
}


def shared_numbers(form, kl):
    return {"form": form, "parameters": PARAMETERS, "kl": {**KL_PARAMETERS, "kind": kl, "gradient_kind": kl}}


def rows_numbers(form, kl):
    own = {"old_log_probs_per_row": 0, "advantages_per_token": 1, "factors_per_token": 1, "reduce": "SRP_REDUCE_MEAN", "figure_count": "SRP_LOSS_FIGURES", "G": 0}
    return {"dtype": "SRP_F32", **ROWS, **shared_numbers(form, kl), **own}


def token_checks(data):
    old = data.log_probs(B, T)
    current = old + data.normal(B, T, scale=0.4)
    reference = old + data.normal(B, T, scale=0.2)
    advantage, factor = data.normal(B, T), data.uniform(B, T, low=0.5, high=1.5)
    marks = data.integers(0, 2, B, T, dtype=torch.uint8)
    weight = data.uniform(B, dtype=torch.float64)
    kept = data.kept
    inputs = {"log_probs": current, "old_log_probs": old, "advantages": advantage, "factors": factor, "reference_log_probs": reference, "row_weights": weight, "mask": data.mask, "marks": marks}
    for i, (name, form) in enumerate(TOKEN_FORMS.items()):
        kl_name, kl_form = list(KL_FORMS.items())[i % len(KL_FORMS)]
        leaf = current.double().requires_grad_()
        tokens = {"log_probs": leaf, "old_log_probs": old.double(), "x": leaf - old.double(), "advantages": advantage.double(), "marks": marks.bool()}
        loss = dot_mask(form(tokens) * factor.double(), kept)
        kl = dot_mask(kl_form(leaf - reference.double()), kept)
        total = (weight * (loss.sum(1) + KL * kl.sum(1))).sum()
        (gradient,) = torch.autograd.grad(total, leaf)
        outputs = {"losses": (loss.detach(), torch.float32, F32), "kl_values": (kl.detach(), torch.float32, F32), "grad_log_probs": (dot_mask(gradient, kept), torch.float32, F32)}
        yield Check("loss_token", "%s, KL %s" % (name, kl_name), inputs, rows_numbers("SRP_LOSS_" + name, "SRP_KL_" + kl_name), outputs)


def row_checks(data):
    old = data.log_probs(B, T)
    current = old + data.normal(B, T, scale=0.4)
    advantage, weight, kept = data.normal(B, T), data.uniform(B, dtype=torch.float64), data.kept
    count = kept.sum(1).clamp(min=1)
    inputs = {"log_probs": current, "old_log_probs": old, "row_weights": weight, "mask": data.mask}

    def outputs_of(leaf, loss, total):
        (gradient,) = torch.autograd.grad(total, leaf)
        return {"losses": (loss.detach(), torch.float32, F32), "grad_log_probs": (dot_mask(gradient, kept), torch.float32, F32)}

    def ratio_of(leaf):
        return dot_mask(leaf - old.double(), kept).sum(1) / count

    def leaf_of():
        return current.double().requires_grad_()

    def numbers(form, **more):
        return {**rows_numbers("SRP_ROW_" + form, 0), "factors_per_token": 0, **more}

    leaf = leaf_of()
    loss = dot_mask(clip(ratio_of(leaf)[:, None].expand(B, T), advantage.double()), kept)
    yield Check("loss_row", "CLIP", {**inputs, "advantages": advantage}, numbers("CLIP"), outputs_of(leaf, loss, (weight * loss.sum(1)).sum()))

    leaf = leaf_of()
    carried = ratio_of(leaf).detach()[:, None] + leaf - leaf.detach()
    loss = dot_mask(clip(carried, advantage.double()), kept)
    yield Check("loss_row", "CLIP_LOCAL", {**inputs, "advantages": advantage}, numbers("CLIP_LOCAL"), outputs_of(leaf, loss, (weight * loss.sum(1)).sum()))

    single = data.normal(B)
    leaf = leaf_of()
    loss = clip(ratio_of(leaf), single.double())
    yield Check("loss_row", "CLIP_ONCE", {**inputs, "advantages": single}, numbers("CLIP_ONCE", advantages_per_token=0), outputs_of(leaf, loss, (weight * loss).sum()))

    leaf = leaf_of()
    ratio = log_ratios(leaf, old.double(), data, "GROUP")[data.group]
    loss = clip(ratio, single.double())
    outputs = {
        **outputs_of(leaf, loss, (weight * loss).sum()),
        "ratios": (ratio.detach().clamp(-CLAMP, CLAMP).exp(), torch.float32, F32),
        "clipped": ((-single.double() * ratio.exp().clamp(1 - LOW, 1 + HIGH) > -single.double() * ratio.exp().clamp(max=CAP)).to(torch.uint8), torch.uint8, EXACT),
    }
    yield Check("loss_row", "CLIP_ONCE of groups", {**inputs, "advantages": single, "group_offsets": data.group_offsets}, numbers("CLIP_ONCE", advantages_per_token=0, G=GROUPS, figure_count="SRP_LOSS_SUMS"), outputs)

    leaf = leaf_of()
    loss = (0.5 * ratio_of(leaf) - single.double()) ** 2
    yield Check("loss_row", "SQUARED", {**inputs, "advantages": single}, numbers("SQUARED", advantages_per_token=0, parameters={**PARAMETERS, "coefficient": 0.5}), outputs_of(leaf, loss, (weight * loss).sum()))

    leaf = leaf_of()
    x, a = leaf - old.double(), single.double()[:, None].expand(B, T)
    held = torch.where(a > 0, x.clamp(max=HIGH), torch.where(a < 0, x.clamp(min=-LOW), torch.zeros_like(x)))
    loss = -single.double() * (dot_mask(held, kept).sum(1) / count).exp()
    yield Check("loss_row", "GEOMETRIC", {**inputs, "advantages": single}, numbers("GEOMETRIC", advantages_per_token=0), outputs_of(leaf, loss, (weight * loss).sum()))

    near = old + data.normal(B, T, scale=0.02)
    leaf = near.double().requires_grad_()
    logs = dot_mask((leaf - old.double()).clamp(-20, 20), kept).sum(1).clamp(math.log(1e-8), 20).detach()
    up = single >= 0
    k, rate = torch.where(up, logs.new_tensor(2.0), logs.new_tensor(3.0)), torch.where(up, logs.new_tensor(1.0), logs.new_tensor(2.5))
    p = torch.exp(rate + k * logs - rate * logs.exp())
    loss = dot_mask(-(p * single.double())[:, None] * leaf, kept)
    yield Check("loss_row", "GAMMA", {**inputs, "log_probs": near, "advantages": single}, numbers("GAMMA", advantages_per_token=0), outputs_of(leaf, loss, (weight * loss.sum(1)).sum()))


def logits_checks(data):
    rows, vocab = 23, 2050
    for dtype in (torch.float32, torch.bfloat16):
        logits = data.normal(rows, vocab, scale=2.0).to(dtype)
        targets = data.integers(0, vocab, rows)
        leaf = logits.double().requires_grad_()
        logs = torch.log_softmax(leaf, -1)
        current = logs.gather(1, targets.long()[:, None])[:, 0]
        entropy = -(logs.exp() * logs).sum(-1)
        old = current.detach() + data.normal(rows, dtype=torch.float64, scale=0.05)
        reference = current.detach() + data.normal(rows, dtype=torch.float64, scale=0.2)
        advantage, weight = data.normal(rows, dtype=torch.float64), data.uniform(rows, dtype=torch.float64)
        bonus = data.uniform(rows, dtype=torch.float64) * -0.01
        loss = clip(current - old, advantage)
        total = (weight * (loss + KL * KL_FORMS["K3"](current - reference)) + bonus * entropy).sum()
        (gradient,) = torch.autograd.grad(total, leaf)
        largest = gradient.abs().max(-1).values + (weight * advantage).abs()
        bound = 1e-5 * (1 + current.detach().abs()) * largest
        inputs = {"logits": logits, "targets": targets, "old_log_probs": old, "advantages": advantage, "reference_log_probs": reference, "weights": weight, "entropy_weights": bonus}
        numbers = {"dtype": SRP[dtype], "N": rows, "V": vocab, "stride": vocab, "temperature": 1.0, "scale": 1.0, "softcap": 0.0, **shared_numbers("SRP_LOSS_CLIP", "SRP_KL_K3")}
        outputs = {
            "log_probs": (current.detach(), torch.float32, (1e-9, 1.2e-6)),
            "entropies": (entropy.detach(), torch.float32, (1e-9, 1.2e-6)),
            "grad_logits": (gradient, dtype, (bound[:, None], 1e-7 if dtype == torch.float32 else 8e-3)),
        }
        yield Check("loss_logits", "%s, CLIP with K3 and entropy" % str(dtype).split(".")[1], inputs, numbers, outputs)


def checks(device):
    yield from token_checks(Data(device))
    yield from row_checks(Data(device))
    yield from logits_checks(Data(device))
