"""The work as loops that numba compiles: one thread, float64 carries, compiled by the first run."""

import numba
import numpy as np

from numpy_forms import build, set_threads, to_numpy  # noqa: F401 (serve.py takes them from here)

compiled = numba.njit(fastmath=False)


def version():
    return "numba %s, numpy %s" % (numba.__version__, np.__version__)


@compiled
def logprob_loop(logits, targets, logprobs, entropies):
    for n in range(logits.shape[0]):
        row = logits[n]
        top = row[0]
        for j in range(row.size):
            top = max(top, row[j])
        total, weighted = 0.0, 0.0
        for j in range(row.size):
            d = row[j] - top
            e = np.exp(d)
            total += e
            weighted += e * d
        log = np.log(total)
        logprobs[n] = row[targets[n]] - top - log
        entropies[n] = log - weighted / total


def logprob(arrays, numbers):
    logits = arrays["logits"].reshape(numbers["rows"], numbers["vocab"])

    def run():
        logprobs, entropies = np.empty(len(logits), np.float32), np.empty(len(logits), np.float32)
        logprob_loop(logits, arrays["targets"], logprobs, entropies)
        return {"logProbs": logprobs, "entropies": entropies}

    return run


@compiled
def gae_rows(rewards, values, mask, gamma, decay, advantages, returns):
    for b in range(rewards.shape[0]):
        carry, following = 0.0, 0.0
        for t in range(rewards.shape[1] - 1, -1, -1):
            if mask[b, t] == 0:
                advantages[b, t] = returns[b, t] = 0.0
                continue
            carry = rewards[b, t] + gamma * following - values[b, t] + decay * carry
            following = values[b, t]
            advantages[b, t] = carry
            returns[b, t] = carry + following


def gae(arrays, numbers):
    shape = (numbers["rows"], numbers["steps"])
    rewards, values, mask = (arrays[name].reshape(shape) for name in ("rewards", "values", "mask"))
    gamma, decay = float(numbers["gamma"]), float(numbers["gamma"] * numbers["lambda"])

    def run():
        advantages, returns = np.empty(shape, np.float32), np.empty(shape, np.float32)
        gae_rows(rewards, values, mask, gamma, decay, advantages, returns)
        return {"advantages": advantages.ravel(), "returns": returns.ravel()}

    return run


@compiled
def normalize_rows(values, epsilon, normalized):
    size = values.shape[1]
    for g in range(values.shape[0]):
        mean = 0.0
        for k in range(size):
            mean += values[g, k]
        mean /= size
        squares = 0.0
        for k in range(size):
            squares += (values[g, k] - mean) ** 2
        scale = np.sqrt(squares / (size - 1)) + epsilon
        for k in range(size):
            normalized[g, k] = (values[g, k] - mean) / scale


def group_normalize(arrays, numbers):
    values = arrays["values"].reshape(-1, numbers["size"])

    def run():
        normalized = np.empty(values.shape, np.float32)
        normalize_rows(values, float(numbers["epsilon"]), normalized)
        return {"normalized": normalized.ravel()}

    return run


FORMS = {
    "logprob": {"loops": logprob},
    "gae": {"loops": gae},
    "groupNormalize": {"loops": group_normalize},
}
