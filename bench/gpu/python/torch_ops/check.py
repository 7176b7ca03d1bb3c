"""One comparison: what goes into an op, what must come out, and how near."""

import torch

F32 = (2e-6, 2e-6)  # absolute and relative: one rounding to float32, and sums in another order
F64 = (1e-11, 1e-11)
EXACT = (0.0, 0.0)

SRP = {torch.float32: "SRP_F32", torch.float64: "SRP_F64", torch.float16: "SRP_F16", torch.bfloat16: "SRP_BF16"}


class Check:
    """`inputs`: tensors by field. `outputs`: field → (expected tensor, its dtype in memory, bounds or a tensor of them)."""

    def __init__(self, op, title, inputs, numbers, outputs):
        self.op, self.title, self.numbers = op, title, numbers
        self.inputs = {name: tensor.contiguous() for name, tensor in inputs.items() if tensor is not None}
        self.expected = {name: expected for name, (expected, _, _) in outputs.items()}
        self.bounds = {name: bounds for name, (_, _, bounds) in outputs.items()}
        device = next(iter(self.inputs.values())).device
        self.outputs = {name: torch.empty(expected.shape, dtype=dtype, device=device) for name, (expected, dtype, _) in outputs.items()}

    def move(self, place):
        """Puts every tensor where `place` says: a library without a device takes its own memory alone."""
        self.inputs = {name: place(tensor) for name, tensor in self.inputs.items()}
        self.outputs = {name: place(tensor) for name, tensor in self.outputs.items()}

    def prepare(self, library):
        pointers = {name: tensor.data_ptr() for name, tensor in {**self.inputs, **self.outputs}.items()}
        return library.prepare(self.op, **pointers, **self.numbers)

    def poison(self):
        for tensor in self.outputs.values():
            tensor.fill_(float("nan") if tensor.is_floating_point() else 119)

    def bits(self):
        return [tensor.clone().contiguous().view(torch.uint8) if tensor.dim() else tensor.clone() for tensor in self.outputs.values()]

    def errors(self):
        """By output: the largest share of its bound that a difference takes, and that difference."""
        found = {}
        for name, expected in self.expected.items():
            got, want = self.outputs[name].double(), expected.double()
            if got.numel() == 0:
                continue
            absolute, relative = self.bounds[name]
            allowed = absolute + relative * want.abs()
            same = (got == want) | (torch.isnan(got) & torch.isnan(want))
            off = torch.where(same, torch.zeros_like(want), (got - want).abs())
            share = torch.where(same, torch.zeros_like(want), off / torch.clamp(allowed + torch.zeros_like(want), min=1e-300))
            share = torch.where(torch.isnan(share), torch.full_like(share, float("inf")), share)
            off = torch.where(torch.isnan(off), torch.full_like(off, float("inf")), off)
            found[name] = (float(share.max()), float(off.max()))
        return found
