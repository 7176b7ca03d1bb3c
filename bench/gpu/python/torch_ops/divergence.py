"""Divergences between a teacher's and a student's distribution, and the largest logits."""

import torch

from .check import Check
from .data import Data

N, V, K = 17, 1100, 12


def divergence(student, teacher, beta):
    s, t = torch.log_softmax(student, -1), torch.log_softmax(teacher, -1)
    if beta == 0:
        return (t.exp() * (t - s)).sum(-1)
    if beta == 1:
        return (s.exp() * (s - t)).sum(-1)
    m = torch.log((1 - beta) * s.exp() + beta * t.exp())
    return beta * (t.exp() * (t - m)).sum(-1) + (1 - beta) * (s.exp() * (s - m)).sum(-1)


def checks(device):
    data = Data(device)
    student, teacher = data.normal(N, V, scale=2.0), data.normal(N, V, scale=2.0)
    weight = data.uniform(N, dtype=torch.float64)
    for beta in (0.0, 0.5, 1.0):
        leaf = student.double().requires_grad_()
        value = divergence(leaf / 0.8, teacher.double() / 0.8, beta)
        (gradient,) = torch.autograd.grad((weight * value).sum(), leaf)
        inputs = {"student": student, "teacher": teacher, "grad_divergences": weight}
        numbers = {"dtype": "SRP_F32", "N": N, "V": V, "student_stride": V, "teacher_stride": V, "K": 0, "beta": beta, "temperature": 0.8, "outside": 0, "tail_floor": 1e-7}
        outputs = {"divergences": (value.detach(), torch.float64, (1e-11, 1e-10)), "grad_student": (gradient, torch.float32, (1e-10, 1e-6))}
        yield Check("divergence_rows", "beta %g" % beta, inputs, numbers, outputs)
    ids = student.topk(K, -1).indices.sort(-1).values.int()
    yield Check("divergence_top", "%d of %d" % (K, V), {"logits": student}, {"dtype": "SRP_F32", "N": N, "V": V, "stride": V, "K": K}, {"ids": (ids, torch.int32, (0.0, 0.0))})
