"""The work in torch: as trainers write it, and as the best rewrite known here."""

import re

import numpy as np
import torch
import torch.nn.functional as F

from blas import tuned


def version():
    return "torch " + torch.__version__


def set_threads(count):
    torch.set_num_threads(count)


def build(builders, arrays, kinds, numbers):
    tensors = {}
    for name, array in arrays.items():
        tensor = torch.from_numpy(array)
        tensors[name] = tensor.view(torch.bfloat16) if kinds[name] == "bfloat16" else tensor
    given = "bfloat16" if "bfloat16" in kinds.values() else "float32"
    return {name: builder(tensors, numbers) for name, (builder, takes) in builders.items() if given in takes}


def to_numpy(values):
    values = values.detach()
    return np.ascontiguousarray((values.float() if values.dtype == torch.bfloat16 else values).numpy())


def no_grad(run):
    def wrapped():
        with torch.no_grad():
            return run()

    wrapped.plain = run
    return wrapped


def logits_of(tensors, numbers):
    return tensors["logits"].view(numbers["rows"], numbers["vocab"]), tensors["targets"].long()[:, None]


def logprob_log_softmax(tensors, numbers):
    """TRL: one log-softmax, the entropy from it."""
    logits, index = logits_of(tensors, numbers)

    def run():
        logs = torch.log_softmax(logits, -1)
        return {"logProbs": logs.gather(-1, index).squeeze(-1), "entropies": -(logs.exp() * logs).sum(-1)}

    return no_grad(run)


def logprob_chunks(tensors, numbers):
    """TRL's lean form: log-sum-exp row by row, the entropy of 128 rows at a time."""
    logits, index = logits_of(tensors, numbers)

    def run():
        chosen = logits.gather(-1, index).squeeze(-1)
        totals = torch.stack([torch.logsumexp(row, -1) for row in logits])
        entropies = []
        for rows in logits.split(128, 0):
            logs = F.log_softmax(rows, -1)
            entropies.append(-(logs.exp() * logs).sum(-1))
        return {"logProbs": chosen - totals, "entropies": torch.cat(entropies)}

    return no_grad(run)


def logprob_difference(tensors, numbers):
    """verl: entropy as log-sum-exp less the mean logit, which cancels where a token is nearly certain."""
    logits, index = logits_of(tensors, numbers)

    def run():
        wide = logits.float()
        chosen = wide.gather(-1, index).squeeze(-1)
        totals = torch.stack([torch.logsumexp(row, -1) for row in wide])
        shares = F.softmax(wide, -1)
        return {"logProbs": chosen - totals, "entropies": torch.logsumexp(wide, -1) - (shares * wide).sum(-1)}

    return no_grad(run)


def logprob_upcast(tensors, numbers):
    """As the log-softmax form, in float32 whatever the logits are."""
    logits, index = logits_of(tensors, numbers)

    def run():
        logs = torch.log_softmax(logits.float(), -1)
        return {"logProbs": logs.gather(-1, index).squeeze(-1), "entropies": -(logs.exp() * logs).sum(-1)}

    return no_grad(run)


def backward_autograd(tensors, numbers):
    """The gradient as trainers get it: autograd of the log-softmax form, forward pass included."""
    logits, index = logits_of(tensors, numbers)
    logits = logits.clone().requires_grad_(True)

    def run():
        logits.grad = None
        logs = torch.log_softmax(logits, -1)
        entropies = -(logs.exp() * logs).sum(-1)
        chosen = logs.gather(-1, index).squeeze(-1)
        torch.autograd.backward([chosen, entropies], [tensors["gradLogProbs"], tensors["gradEntropies"]])
        return {"gradient": logits.grad}

    return run


def backward_by_hand(tensors, numbers):
    """The best rewrite: log-sum-exp and entropy are given, three passes over two temporaries."""
    logits, index = logits_of(tensors, numbers)
    totals, entropies = tensors["logSumExps"][:, None], tensors["entropies"][:, None]
    a, h = tensors["gradLogProbs"][:, None], tensors["gradEntropies"][:, None]

    def run():
        logs = logits - totals
        gradient = logs.exp()
        gradient.mul_(logs.mul_(-h).add_(-(a + h * entropies)))
        gradient.scatter_add_(1, index, a)
        return {"gradient": gradient}

    return no_grad(run)


def rollouts_of(tensors, numbers):
    shape = (numbers["rows"], numbers["steps"])
    return tensors["rewards"].view(shape), tensors["values"].view(shape), tensors["mask"].view(shape).float()


def gae_loop(tensors, numbers):
    """The trainers' loop: one column of the batch after the other, from the end."""
    rewards, values, mask = rollouts_of(tensors, numbers)
    steps, gamma, decay = numbers["steps"], numbers["gamma"], numbers["gamma"] * numbers["lambda"]

    def run():
        kept, gains = mask * values, mask * rewards
        last, columns = 0, []
        for t in reversed(range(steps)):
            following = kept[:, t + 1] if t < steps - 1 else 0.0
            last = gains[:, t] + gamma * following - kept[:, t] + decay * last
            columns.append(last)
        advantages = torch.stack(columns[::-1], dim=1)
        return {"advantages": advantages, "returns": advantages + kept}

    return no_grad(run)


def gae_time_major(tensors, numbers):
    """The best rewrite that is still a loop: steps as rows, in place."""
    rewards, values, mask = rollouts_of(tensors, numbers)
    steps, gamma, decay = numbers["steps"], numbers["gamma"], numbers["gamma"] * numbers["lambda"]

    def run():
        kept = (mask * values).t().contiguous()
        carry = (mask * rewards).t().contiguous()
        carry[:-1] += gamma * kept[1:]
        carry -= kept
        for t in range(steps - 2, -1, -1):
            carry[t].add_(carry[t + 1], alpha=decay)
        advantages = carry.t().contiguous()
        return {"advantages": advantages, "returns": advantages + mask * values}

    return no_grad(run)


def paired(starts, ends):
    place = torch.searchsorted(ends, starts)
    closed = place < len(ends)
    return {"begins": starts[closed].int(), "finishes": (ends[place[closed]] + 1).int()}


def spans_unfold(tensors, numbers):
    """Every window of three tokens against the delimiter."""
    tokens = tensors["tokens"]
    start = torch.tensor([numbers["start0"], numbers["start1"], numbers["start2"]], dtype=tokens.dtype)
    end = torch.tensor([numbers["end"]], dtype=tokens.dtype)

    def run():
        starts = (tokens.unfold(0, 3, 1) == start).all(-1).nonzero().squeeze(-1) + 3
        ends = (tokens.unfold(0, 1, 1) == end).all(-1).nonzero().squeeze(-1)
        return paired(starts, ends)

    return no_grad(run)


def spans_compare(tensors, numbers):
    """The best rewrite: three shifted comparisons."""
    tokens = tensors["tokens"]
    a, b, c, end = (numbers[name] for name in ("start0", "start1", "start2", "end"))

    def run():
        starts = ((tokens[:-2] == a) & (tokens[1:-1] == b) & (tokens[2:] == c)).nonzero().squeeze(-1) + 3
        return paired(starts, (tokens == end).nonzero().squeeze(-1))

    return no_grad(run)


def group_normalize(tensors, numbers):
    rewards = tensors["values"].view(-1, numbers["size"])

    def run():
        means = rewards.mean(-1, keepdim=True)
        return {"normalized": ((rewards - means) / (rewards.std(1, keepdim=True) + numbers["epsilon"])).flatten()}

    return no_grad(run)


def sequences_of(tensors, numbers):
    shape = (numbers["rows"], numbers["steps"])
    return tensors["current"].view(shape), tensors["old"].view(shape), tensors["mask"].view(shape).float()


def sequence_ratio(tensors, numbers):
    current, old, mask = sequences_of(tensors, numbers)

    def run():
        return {"ratios": torch.exp(((current - old) * mask).sum(-1) / mask.sum(-1).clamp(min=1.0))}

    return no_grad(run)


def sequence_gradient(tensors, numbers):
    current, old, mask = sequences_of(tensors, numbers)
    current = current.clone().requires_grad_(True)
    advantages = tensors["advantages"]
    low, high = 1 - numbers["clipLow"], 1 + numbers["clipHigh"]

    def run():
        current.grad = None
        ratios = torch.exp(((current - old) * mask).sum(-1) / mask.sum(-1).clamp(min=1.0))
        torch.min(ratios * advantages, torch.clamp(ratios, low, high) * advantages).mean().backward()
        return {"gradLogProbs": current.grad}

    return run


def empg_loops(tensors, numbers):
    """The published form: steps found in lists of ids, a mean with item() each, and slices of the advantages changed one by one."""
    shape = (numbers["rows"], numbers["steps"])
    tokens, entropies = tensors["tokens"].view(shape), tensors["entropies"].view(shape)
    rewards = tensors["rewards"].view(-1, numbers["group"])
    start, end = [numbers["start0"], numbers["start1"], numbers["start2"]], numbers["end"]

    def steps_of(ids):
        found, begin, at = [], None, 0
        while at < len(ids):
            if begin is None and ids[at : at + len(start)] == start:
                at += len(start)
                begin = at
                continue
            if begin is not None and ids[at] == end:
                found.append((begin, at + 1))
                begin = None
            at += 1
        return found

    def run():
        spread = rewards.std(1, keepdim=True) + numbers["groupEpsilon"]
        scores = ((rewards - rewards.mean(1, keepdim=True)) / spread).flatten()
        advantages = scores[:, None].repeat(1, shape[1])
        steps = [(row, *step) for row in range(shape[0]) for step in steps_of(tokens[row].tolist())]
        means = np.array([entropies[row][begin:finish].mean().item() for row, begin, finish in steps])
        low, high = means.min(), means.max()
        weights = np.exp(-(means - low) / (high - low + numbers["epsilon"]))
        scales = weights / (weights.mean() + numbers["epsilon"])
        heads = []
        for s, (row, begin, finish) in enumerate(steps):
            advantages[row][begin:finish] *= scales[s]
            if s + 1 < len(steps) and steps[s + 1][0] == row:
                advantages[row][begin:finish] += numbers["zeta"] * weights[s + 1]
            heads.append(advantages[row][begin])
        advantages -= torch.stack(heads).mean()
        return {"advantages": advantages.flatten()}

    return no_grad(run)


def compiled(builder):
    """The same through torch.compile: the first run compiles, the bench leaves it out."""

    def build_compiled(tensors, numbers):
        run = builder(tensors, numbers)
        inner = torch.compile(getattr(run, "plain", run), dynamic=False)
        return no_grad(inner) if hasattr(run, "plain") else inner

    return build_compiled


# Loops of Python over rows: a compiler unrolls them, for minutes and into 17 GB where there are 4,096.
BY_ROWS = (logprob_chunks, logprob_difference)


def forms_with_compile(forms):
    """Each form once more through torch.compile, where this torch has it; a compiler that is missing is told by the first run."""
    if not hasattr(torch, "compile"):
        return forms
    extra = {
        name + ", torch.compile": (compiled(builder), takes)
        for name, (builder, takes) in forms.items()
        if builder not in BY_ROWS
    }
    return {**forms, **extra}


def blas():
    """Name of the tuned BLAS that torch was built with, or that stands in for a distribution's generic one; else None."""
    built = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return built.group(1) if built and built.group(1) != "generic" else tuned()


def linear(tensors, numbers):
    """The logits alone; nothing is made of them."""
    hidden, weight = tensors["hidden"].view(-1, numbers["dim"]), tensors["weight"].view(-1, numbers["dim"])

    def run():
        return {"logits": hidden @ weight.T}

    return no_grad(run)


def linear_gradient(tensors, numbers):
    """The products of a forward and a backward pass that keeps no logits: those of the logits thrice, and two of gradients."""
    hidden, weight = tensors["hidden"].view(-1, numbers["dim"]), tensors["weight"].view(-1, numbers["dim"])

    def run():
        for product in range(3):
            logits = hidden @ weight.T
        return {"logits": logits, "of_hidden": logits @ weight, "of_weight": logits.T @ hidden}

    return no_grad(run)


WIDE, HALF, BOTH = ("float32",), ("bfloat16",), ("float32", "bfloat16")

# Name of a form: what builds it, and the types of logits that it is meant for.
FORMS = {
    "logprob": {
        "TRL form": (logprob_log_softmax, WIDE),
        "TRL form, 128 rows at a time": (logprob_chunks, WIDE),
        "verl form": (logprob_difference, BOTH),
        "log-softmax, upcast": (logprob_upcast, HALF),
    },
    "logprobBackward": {
        "autograd, forward included": (backward_autograd, WIDE),
        "by hand": (backward_by_hand, WIDE),
    },
    "gae": {"trainers' loop": (gae_loop, WIDE), "time-major loop": (gae_time_major, WIDE)},
    "spans": {"unfold": (spans_unfold, WIDE), "compare": (spans_compare, WIDE)},
    "groupNormalize": {"expression": (group_normalize, WIDE)},
    "sequenceRatio": {"expression": (sequence_ratio, WIDE)},
    "sequenceGradient": {"autograd": (sequence_gradient, WIDE)},
    "empg": {"the published form": (empg_loops, WIDE)},
    "linear": {"hidden @ weight.T, %s" % name: (linear, WIDE) for name in [blas()] if name},
    "linearGradient": {"five products, %s" % name: (linear_gradient, WIDE) for name in [blas()] if name},
}

# Expressions: what is a loop of Python, or finds lists whose length the data decides, is not what a compiler is for.
for work in ("logprob", "logprobBackward", "groupNormalize", "sequenceRatio", "sequenceGradient"):
    FORMS[work] = forms_with_compile(FORMS[work])
