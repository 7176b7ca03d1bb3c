"""The work in numpy: as an expression over whole arrays, and as the best rewrite known here."""

import numpy as np


def version():
    return "numpy " + np.__version__


def set_threads(_):
    """None of what is used here runs on more than one thread."""


def build(builders, arrays, kinds, numbers):
    if "bfloat16" in kinds.values():
        return {}  # numpy has no such type
    return {name: builder(arrays, numbers) for name, builder in builders.items()}


def to_numpy(values):
    return np.ascontiguousarray(values)


def logprob_whole(arrays, numbers):
    rows, vocab = numbers["rows"], numbers["vocab"]
    logits, targets = arrays["logits"].reshape(rows, vocab), arrays["targets"]
    index = np.arange(rows)

    def run():
        z = logits - logits.max(-1, keepdims=True)
        e = np.exp(z)
        sums = e.sum(-1)
        logs = np.log(sums)
        np.multiply(e, z, out=e)
        return {"logProbs": z[index, targets] - logs, "entropies": logs - e.sum(-1) / sums}

    return run


def logprob_rows(arrays, numbers):
    """A row at a time in two buffers that stay in the cache; the weighted sum is a dot product."""
    rows, vocab = numbers["rows"], numbers["vocab"]
    logits, targets = arrays["logits"].reshape(rows, vocab), arrays["targets"]
    z, e = np.empty(vocab, np.float32), np.empty(vocab, np.float32)

    def run():
        logprobs, entropies = np.empty(rows, np.float32), np.empty(rows, np.float32)
        for n in range(rows):
            row = logits[n]
            np.subtract(row, row.max(), out=z)
            np.exp(z, out=e)
            total = e.sum()
            log = np.log(total)
            logprobs[n] = z[targets[n]] - log
            entropies[n] = log - e.dot(z) / total
        return {"logProbs": logprobs, "entropies": entropies}

    return run


def gae_time_major(arrays, numbers):
    """Steps become rows, so that the loop over time works on contiguous memory."""
    rows, steps = numbers["rows"], numbers["steps"]
    rewards, values = arrays["rewards"].reshape(rows, steps), arrays["values"].reshape(rows, steps)
    mask = arrays["mask"].reshape(rows, steps).astype(np.float32)
    gamma, decay = np.float32(numbers["gamma"]), np.float32(numbers["gamma"] * numbers["lambda"])

    def run():
        kept = np.ascontiguousarray((mask * values).T)
        carry = np.ascontiguousarray((mask * rewards).T)
        carry[:-1] += gamma * kept[1:]
        carry -= kept
        for t in range(steps - 2, -1, -1):
            carry[t] += decay * carry[t + 1]
        advantages = np.ascontiguousarray(carry.T)
        return {"advantages": advantages, "returns": advantages + mask * values}

    return run


def spans_search(arrays, numbers):
    """Compare with the first id, verify the few that match, pair with the next end by bisection."""
    tokens = arrays["tokens"]
    a, b, c, end = (numbers[name] for name in ("start0", "start1", "start2", "end"))

    def run():
        starts = np.flatnonzero(tokens[:-2] == a)
        starts = starts[(tokens[starts + 1] == b) & (tokens[starts + 2] == c)] + 3
        ends = np.flatnonzero(tokens == end)
        place = np.searchsorted(ends, starts)
        closed = place < len(ends)
        return {"begins": starts[closed].astype(np.int32), "finishes": (ends[place[closed]] + 1).astype(np.int32)}

    return run


def group_normalize(arrays, numbers):
    size, epsilon = numbers["size"], np.float32(numbers["epsilon"])
    rewards = arrays["values"].reshape(-1, size)

    def run():
        centred = rewards - rewards.mean(-1, keepdims=True)
        return {"normalized": (centred / (rewards.std(-1, ddof=1, keepdims=True) + epsilon)).ravel()}

    return run


def sequence_ratio(arrays, numbers):
    rows, steps = numbers["rows"], numbers["steps"]
    current, old = arrays["current"].reshape(rows, steps), arrays["old"].reshape(rows, steps)
    mask = arrays["mask"].reshape(rows, steps).astype(np.float32)

    def run():
        return {"ratios": np.exp(((current - old) * mask).sum(-1) / mask.sum(-1))}

    return run


def kept_of(arrays):
    return arrays["values"], arrays["mask"].astype(bool)


def moments(arrays, _):
    values, mask = kept_of(arrays)

    def run():
        kept = values[mask]
        mean = kept.mean(dtype=np.float64)
        m2 = kept.var(dtype=np.float64) * kept.size
        return {"moments": np.array([kept.size, mean, m2, kept.min(), kept.max()], dtype=np.float32)}

    return run


def whiten(arrays, numbers):
    values, mask = kept_of(arrays)

    def run():
        kept = values[mask]
        divisor = np.sqrt(kept.var(ddof=1, dtype=np.float64) + numbers["epsilon"])
        centred = values - np.float32(kept.mean(dtype=np.float64))
        return {"mapped": np.where(mask, centred / np.float32(divisor), np.float32(0))}

    return run


def quantile_mask(arrays, numbers):
    values, mask = kept_of(arrays)

    def run():
        return {"selected": (mask & (values >= np.quantile(values[mask], numbers["q"]))).astype(np.uint8)}

    return run


FORMS = {
    "logprob": {"whole arrays": logprob_whole, "row by row, reused buffers": logprob_rows},
    "gae": {"time-major loop": gae_time_major},
    "spans": {"compare, then bisection": spans_search},
    "groupNormalize": {"expression": group_normalize},
    "sequenceRatio": {"expression": sequence_ratio},
    "moments": {"kept, then mean and var": moments},
    "whiten": {"expression": whiten},
    "quantileMask": {"expression": quantile_mask},
}
