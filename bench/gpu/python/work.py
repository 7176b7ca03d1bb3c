"""What is timed: arrays, the call of this library, the same in eager torch, and the bytes that nobody can avoid."""

import torch

SIZE = {torch.float32: 4, torch.bfloat16: 2, torch.float16: 2}
CODE = {torch.float32: "SRP_F32", torch.bfloat16: "SRP_BF16", torch.float16: "SRP_F16"}
OFF = float("inf")
NO_PARAMETERS = {"clip_low": OFF, "clip_high": OFF, "dual_clip": OFF, "ratio_cap": OFF, "log_clamp": OFF, "max_log_ratio": OFF, "temperature_positive": 1.0, "temperature_negative": 1.0}
NO_KL = {"log_clamp": OFF, "value_clamp": OFF}
NAME = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}


class Work:
    """`make(seed)` → (tensors by field, outputs by field). `eager(tensors)` → the named outputs, as a trainer writes it.

    `bounds`: by name, what anybody's answer takes at least; timed beside the rest and compared with nothing."""

    def __init__(self, kernel, op, shape, dtype, row_kind, least, formula, call, numbers, make, eager, near, plain=None, bounds=None):
        self.kernel, self.op, self.shape, self.dtype, self.row_kind = kernel, op, shape, dtype, row_kind
        self.least, self.formula = least, formula
        self.call, self.numbers, self.make, self.eager, self.near = call, numbers, make, eager, near
        self.plain = plain  # the name of a straightforward Triton kernel, if there is one
        self.bounds = bounds or {}

    def title(self):
        return "%s %s [%s]" % (self.op, self.dtype, ", ".join(map(str, self.shape[1])))


def logits_of(rows, vocab, dtype, device, seed):
    generator = torch.Generator(device=device).manual_seed(seed)
    logits = torch.empty(rows, vocab, dtype=dtype, device=device)
    for begin in range(0, rows, 256):  # in parts: no float32 copy of everything
        part = logits[begin : begin + 256]
        part.copy_(torch.randn(part.shape, generator=generator, device=device) * 2.5)
    return logits, torch.randint(0, vocab, (rows,), generator=generator, device=device, dtype=torch.int32)


def forward_eager(t):
    logs = torch.log_softmax(t["logits"].float(), -1)
    return {"log_probs": logs.gather(1, t["targets"].long()[:, None])[:, 0], "entropies": -(logs.exp() * logs).sum(-1)}


def forward(name, rows, vocab, dtype, device):
    def make(seed):
        logits, targets = logits_of(rows, vocab, dtype, device, seed)
        return {"logits": logits, "targets": targets}, {key: torch.empty(rows, device=device) for key in ("log_probs", "entropies", "log_sum_exps")}

    numbers = {"dtype": CODE[dtype], "N": rows, "V": vocab, "stride": vocab, "K": 1, "temperature": 1.0, "scale": 1.0, "softcap": 0.0}
    least = SIZE[dtype] * rows * vocab + 16 * rows
    return Work("logprob", "logprob", (name, [rows, vocab]), NAME[dtype], "normal", least, "s N V + 16 N", "logprob_forward", numbers, make, forward_eager, 2e-4, "forward")


def backward_eager(t):
    p = torch.softmax(t["logits"].float(), -1)
    grad = p * -t["grad_log_probs"][:, None]
    grad.scatter_add_(1, t["targets"].long()[:, None], t["grad_log_probs"][:, None])
    return {"grad_logits": grad.to(t["logits"].dtype)}


def backward(name, rows, vocab, dtype, device):
    def make(seed):
        logits, targets = logits_of(rows, vocab, dtype, device, seed)
        top = logits.max(-1).values.float()
        rest = torch.cat([torch.logsumexp(part.float(), -1) for part in logits.split(256)]) - top
        tensors = {"logits": logits, "targets": targets, "max_logits": top, "log1p_sums": rest, "grad_log_probs": torch.randn(rows, device=device)}
        return tensors, {"grad_logits": torch.empty_like(logits)}

    numbers = {"dtype": CODE[dtype], "N": rows, "V": vocab, "stride": vocab, "K": 1, "vocab_start": 0, "vocab_size": vocab, "temperature": 1.0, "scale": 1.0, "softcap": 0.0}
    least = 2 * SIZE[dtype] * rows * vocab + 16 * rows
    return Work("logprob", "logprobBackward", (name, [rows, vocab]), NAME[dtype], "normal", least, "2 s N V + 16 N", "logprob_backward", numbers, make, backward_eager, 1e-2, "backward")


def fused_eager(t):
    logits = t["logits"].float().requires_grad_()
    current = torch.log_softmax(logits, -1).gather(1, t["targets"].long()[:, None])[:, 0]
    ratio, a = (current - t["old_log_probs"].float()).exp(), t["advantages"].float()
    loss = torch.maximum(-a * ratio, -a * ratio.clamp(0.8, 1.28))
    (grad,) = torch.autograd.grad(loss.sum(), logits)
    return {"grad_logits": grad.to(t["logits"].dtype)}


def fused(name, rows, vocab, dtype, device):
    def make(seed):
        logits, targets = logits_of(rows, vocab, dtype, device, seed)
        tensors = {"logits": logits, "targets": targets}
        current = torch.cat([forward_eager({"logits": a, "targets": b})["log_probs"] for a, b in zip(logits.split(256), targets.split(256))])
        tensors["old_log_probs"] = (current + 0.1 * torch.randn(rows, device=device)).double()
        tensors["advantages"] = torch.randn(rows, device=device, dtype=torch.float64)
        return tensors, {"grad_logits": torch.empty_like(logits), "log_probs": torch.empty(rows, device=device)}

    numbers = {
        "dtype": CODE[dtype], "N": rows, "V": vocab, "stride": vocab, "temperature": 1.0, "scale": 1.0, "softcap": 0.0, "form": "SRP_LOSS_CLIP",
        "parameters": {**NO_PARAMETERS, "clip_low": 0.2, "clip_high": 0.28}, "kl": NO_KL,
    }
    least = 2 * SIZE[dtype] * rows * vocab + 24 * rows
    return Work("logprob", "policyLossFromLogits", (name, [rows, vocab]), NAME[dtype], "normal", least, "2 s N V + 24 N", "loss_logits", numbers, make, fused_eager, 1e-2)


def head_of(rows, width, vocab, dtype, device, seed):
    generator = torch.Generator(device=device).manual_seed(seed)
    drawn = lambda *shape: torch.randn(*shape, generator=generator, device=device)  # noqa: E731
    hidden, weight = drawn(rows, width).to(dtype), torch.empty(vocab, width, dtype=dtype, device=device)
    for begin in range(0, vocab, 8192):  # in parts: no float32 copy of everything
        part = weight[begin : begin + 8192]
        part.copy_(drawn(*part.shape) * (2.5 / width**0.5))
    return {"hidden": hidden, "weight": weight, "targets": torch.randint(0, vocab, (rows,), generator=generator, device=device, dtype=torch.int32)}


def head_numbers(rows, width, vocab, dtype, sums):
    return {"dtype": CODE[dtype], "N": rows, "D": width, "V": vocab, "padded": vocab, "chunk_rows": 0, "sums": sums, "temperature": 1.0, "scale": 1.0, "softcap": 0.0}


def head_eager(t):
    return forward_eager({"logits": t["hidden"] @ t["weight"].T, "targets": t["targets"]})


IN_PARTS = "SRP_SUMS_BFLOAT16X3"


def head_op(op, sums):
    return f"{op}, bfloat16x3" if sums == IN_PARTS else op


def head(name, rows, width, vocab, dtype, device, sums="SRP_SUMS_FLOAT32"):
    def make(seed):
        return head_of(rows, width, vocab, dtype, device, seed), {key: torch.empty(rows, device=device) for key in ("log_probs", "entropies")}

    product = {"torch: the product alone": lambda t: t["hidden"] @ t["weight"].T}
    least, formula = SIZE[dtype] * width * (rows + vocab), "s D (N + V)"
    # Torch rounds the logits to 16 bits, this library does not.
    return Work("linear", head_op("linearLogprob", sums), (name, [rows, width, vocab]), NAME[dtype], "normal", least, formula, "linear_forward", head_numbers(rows, width, vocab, dtype, sums), make, head_eager, 2e-2, bounds=product)


def head_backward_eager(t):
    hidden, weight = t["hidden"].detach().requires_grad_(), t["weight"].detach().requires_grad_()
    logs = torch.log_softmax((hidden @ weight.T).float(), -1)
    chosen = logs.gather(1, t["targets"].long()[:, None])[:, 0]
    gradients = torch.autograd.grad((t["grad_log_probs"] * chosen).sum(), (hidden, weight))
    return {"grad_hidden": gradients[0], "grad_weight": gradients[1]}


def head_backward(name, rows, width, vocab, dtype, device, sums="SRP_SUMS_FLOAT32"):
    def make(seed):
        tensors = head_of(rows, width, vocab, dtype, device, seed)
        logits = [(part @ tensors["weight"].T).float() for part in tensors["hidden"].split(256)]
        top = torch.cat([part.max(-1).values for part in logits]).double()
        tensors["max_logits"], tensors["log1p_sums"] = top, torch.cat([torch.logsumexp(part, -1) for part in logits]).double() - top
        tensors["grad_log_probs"] = torch.randn(rows, device=device)
        return tensors, {"grad_hidden": torch.empty(rows, width, dtype=dtype, device=device), "grad_weight": torch.empty(vocab, width, device=device)}

    def products(t):
        logits = t["hidden"] @ t["weight"].T
        return logits @ t["weight"], logits.T @ t["hidden"]

    numbers = {**head_numbers(rows, width, vocab, dtype, sums), "vocab_start": 0, "vocab_size": vocab, "accumulate": 0}
    least, formula = SIZE[dtype] * width * (2 * rows + vocab) + 4 * width * vocab, "s D (2 N + V) + 4 D V"
    return Work("linear", head_op("linearLogprobBackward", sums), (name, [rows, width, vocab]), NAME[dtype], "normal", least, formula, "linear_backward", numbers, make, head_backward_eager, 3e-2, bounds={"torch: the three products alone": products})


def gae_eager(t):
    reward, value, kept = t["rewards"], t["values"], t["mask"].to(torch.float32)
    out, after, carry = torch.empty_like(reward), torch.zeros_like(reward[:, 0]), torch.zeros_like(reward[:, 0])
    for step in reversed(range(reward.shape[1])):
        keep = kept[:, step]
        now = reward[:, step] + after - value[:, step] + 0.95 * carry
        carry, after = now * keep + carry * (1 - keep), value[:, step] * keep + after * (1 - keep)
        out[:, step] = now * keep
    return {"advantages": out, "returns": (out + value) * kept}


def gae(name, rows, steps, device, with_peer):
    def make(seed):
        generator = torch.Generator(device=device).manual_seed(seed)
        tensors = {key: torch.randn(rows, steps, generator=generator, device=device) for key in ("rewards", "values")}
        lengths = torch.randint(steps // 2, steps + 1, (rows, 1), generator=generator, device=device)
        tensors["mask"] = (torch.arange(steps, device=device)[None] < lengths).to(torch.uint8)
        return tensors, {key: torch.empty(rows, steps, device=device) for key in ("advantages", "returns")}

    numbers = {"dtype": "SRP_F32", "n": rows * steps, "B": rows, "T": steps, "gamma": 1.0, "lambda": 0.95, "mask_mode": "SRP_MASK_SKIP", "transform_masked": 0}
    return Work("scan", "gae", (name, [rows, steps]), "float32", "γ = 1, λ = 0.95", 17 * rows * steps, "17 B T", "scan_gae", numbers, make, gae_eager if with_peer else None, 1e-3)


def spans_eager(t):
    tokens = t["tokens"]
    starts = ((tokens[:-2] == 7) & (tokens[1:-1] == 8) & (tokens[2:] == 9)).nonzero()[:, 0] + 3
    ends = (tokens == 5).nonzero()[:, 0]
    place = torch.searchsorted(ends, starts)
    closed = place < ends.numel()
    begins, finishes = starts[closed], ends[place[closed]] + 1
    return {"spans": torch.stack([torch.zeros_like(begins), begins, finishes], 1).int()}


def spans(count, device):
    capacity = count // 300 + 64

    def make(seed):
        generator = torch.Generator(device=device).manual_seed(seed)
        tokens = torch.randint(100, 150000, (count,), generator=generator, device=device, dtype=torch.int32)
        for place, token in ((0, 7), (1, 8), (2, 9), (178, 5)):
            tokens[place::350] = token
        marks = {"start_ids": [7, 8, 9], "start_offsets": [0, 3], "end_ids": [5], "end_offsets": [0, 1]}
        tensors = {"tokens": tokens, **{key: torch.tensor(ids, dtype=torch.int32, device=device) for key, ids in marks.items()}}
        found = {"spans": torch.zeros(capacity, 3, dtype=torch.int32, device=device), "count": torch.zeros(1, dtype=torch.int64, device=device)}
        return tensors, found

    numbers = {"dtype": "SRP_I32", "n": count, "B": 1, "T": count, "start_count": 1, "end_count": 1, "head_count": 0, "start_size": 3, "end_size": 1, "head_size": 0, "capacity": capacity, "overlapping": 0, "include_end": "SRP_END_ALL", "unterminated_keep": 0, "starts_open": 0}
    return Work("delim", "findSpans", ("%.0e tokens" % count, [count]), "int32", "a span every 350 tokens", 4 * count, "4 n", "delim_spans", numbers, make, spans_eager, 0.0)


def normalize_eager(t):
    groups = t["values"].view(-1, t["size"])
    return {"normalized": ((groups - groups.mean(-1, keepdim=True)) / (groups.std(-1, keepdim=True) + 1e-6)).view(-1)}


def normalize(count, size, device):
    def make(seed):
        generator = torch.Generator(device=device).manual_seed(seed)
        values = torch.rand(count, generator=generator, device=device)
        return {"values": values, "offsets": torch.arange(0, count + 1, size, dtype=torch.int32, device=device), "size": size}, {"normalized": torch.empty(count, device=device)}

    numbers = {"dtype": "SRP_F32", "n": count, "G": count // size, "ddof": 1.0, "epsilon": 1e-6, "variance_floor": 0.0, "center": "SRP_CENTER_MEAN", "scale": "SRP_SCALE_STD", "singleton": "SRP_SINGLETON_ZERO", "nan_policy": "SRP_NAN_PROPAGATE", "gain": 1.0}
    least = 8 * count + 4 * (count // size + 1)
    return Work("group", "groupNormalize", ("groups of %d" % size, [count, size]), "float32", "uniform rewards", least, "8 n + 4 (G + 1)", "group_normalize", numbers, make, normalize_eager, 1e-4, "normalize")


def sequence_eager(t):
    kept = t["mask"].to(torch.float32)
    count = kept.sum(1).clamp(min=1)
    ratio = (((t["log_probs"] - t["old_log_probs"]) * kept).sum(1) / count).exp()
    a = t["advantages"]
    moves = (ratio * a <= ratio.clamp(0.9997, 1.0004) * a).float()
    return {"grad_log_probs": -(moves * a * ratio / count)[:, None] * kept, "ratios": ratio}


def sequence(rows, steps, device):
    def make(seed):
        generator = torch.Generator(device=device).manual_seed(seed)
        old = -torch.rand(rows, steps, generator=generator, device=device) * 3
        lengths = torch.randint(steps // 2, steps + 1, (rows, 1), generator=generator, device=device)
        tensors = {"log_probs": old + 0.01 * torch.randn(rows, steps, generator=generator, device=device), "old_log_probs": old, "advantages": torch.randn(rows, generator=generator, device=device)}
        tensors["mask"] = (torch.arange(steps, device=device)[None] < lengths).to(torch.uint8)
        return tensors, {"grad_log_probs": torch.empty(rows, steps, device=device), "ratios": torch.empty(rows, device=device)}

    numbers = {
        "dtype": "SRP_F32", "n": rows * steps, "B": rows, "T": steps, "G": 0, "form": "SRP_ROW_CLIP_ONCE", "reduce": "SRP_REDUCE_MEAN", "figure_count": "SRP_LOSS_SUMS",
        "old_log_probs_per_row": 0, "advantages_per_token": 0, "factors_per_token": 0,
        "parameters": {**NO_PARAMETERS, "clip_low": 3e-4, "clip_high": 4e-4}, "kl": NO_KL,
    }
    return Work("ratio", "clippedObjective, sequence, with gradient", ("512 rollouts", [rows, steps]), "float32", "half to all of a row kept", 13 * rows * steps + 8 * rows, "13 B T + 8 B", "loss_row", numbers, make, sequence_eager, 1e-3, "sequence")


def everything(device, tiny):
    """The cases, those of bench/gpu/goals.ts first."""
    if tiny:
        logits, scans, counts, group = [("tiny", 8, 1000), ("tiny", 3, 32000)], [("tiny", 4, 100, True)], [10000], 4096
        heads = [("tiny", 9, 64, 1000)]
        sequences = (8, 300)
    else:
        logits = [("Qwen vocabulary", 8192, 151936), ("Qwen vocabulary", 512, 151936), ("Llama 2 vocabulary", 4096, 32000), ("small vocabulary", 16384, 4096), ("1024 columns", 65536, 1024), ("63 tokens", 63, 151936), ("one token", 1, 151936)]
        scans = [("512 rollouts", 512, 8192, True), ("8 long episodes", 8, 1048576, False), ("one endless episode", 1, 8388608, False), ("65536 short rollouts", 65536, 128, True)]
        counts, group, sequences = [10**6, 10**7, 10**8], 10**6, (512, 8192)
        heads = [("Qwen vocabulary", 4096, 4096, 151936)]
    found = []
    for dtype in (torch.bfloat16, torch.float32):
        for build in (forward, backward, fused):
            for name, rows, vocab in logits:
                small = build is forward and name in ("small vocabulary", "1024 columns")
                headline = dtype == torch.bfloat16 and (small or (name, rows) == logits[0][:2])
                found.append((headline, lambda build=build, name=name, rows=rows, vocab=vocab, dtype=dtype: build(name, rows, vocab, dtype, device)))
    for name, rows, steps, with_peer in scans:
        found.append(((name, rows) == scans[0][:2], lambda name=name, rows=rows, steps=steps, with_peer=with_peer: gae(name, rows, steps, device, with_peer)))
    for count in counts:
        found.append((count == counts[-1], lambda count=count: spans(count, device)))
    for size in (8, 64):
        found.append((size == 8, lambda size=size: normalize(group, size, device)))
    found.append((True, lambda: sequence(*sequences, device)))
    for build in (head, head_backward):
        for name, rows, width, vocab in heads:
            found.append((build is head, lambda build=build, name=name, rows=rows, width=width, vocab=vocab: build(name, rows, width, vocab, torch.bfloat16, device)))
            found.append((False, lambda build=build, name=name, rows=rows, width=width, vocab=vocab: build(name, rows, width, vocab, torch.float32, device, IN_PARTS)))
    return [build for headline, build in sorted(found, key=lambda one: not one[0])]
