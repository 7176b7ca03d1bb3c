"""Every op of a backend library against torch, through the C ABI, on the same device memory.

    python3 compare.py --library libsurprisal_cuda.so --out torch.json [--repeats 100] [--device 0]

Values and gradients have to be as near as an op's bound says, and each of the repeats has to give the same bits. A library
whose arguments lie in host memory (the emulated one) is compared on torch's CPU. Exit status: 0 all within, 1 some not, 3 it
could not be run, with the reason in the file.
"""

import argparse
import ctypes
import json
import sys
import time

import abi


def write(path, document):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def within(library):
    """A copy of a tensor in memory of a library that shares the host's, as a tensor."""
    import torch

    def place(tensor):
        count = max(1, tensor.numel() * tensor.element_size())
        memory = (ctypes.c_uint8 * count).from_address(library.alloc(count))
        copy = torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel()) if tensor.numel() else tensor.clone()
        return copy.reshape(tensor.shape).copy_(tensor)

    return place


def compare(check, library, synchronize, repeats):
    import torch

    run = check.prepare(library)
    first = None
    for _ in range(repeats):
        check.poison()
        synchronize()
        run()
        library.sync()
        bits = check.bits()
        if first is None:
            first, errors = bits, check.errors()
        elif not all(torch.equal(a, b) for a, b in zip(first, bits)):
            return errors, False
    return errors, True


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--library", required=True)
    options.add_argument("--out", required=True)
    options.add_argument("--repeats", type=int, default=100)
    options.add_argument("--device", type=int, default=0)
    chosen = options.parse_args()
    began = time.time()
    library = abi.Library(chosen.library, chosen.device)
    if not library.description.available:
        write(chosen.out, {"skipped": library.description.reason.decode()})
        return 3
    try:
        import torch
    except ImportError as error:
        write(chosen.out, {"skipped": "python3 has no torch: %s" % error})
        return 3
    import torch_ops

    on_device = library.name == "cuda"
    if on_device and not torch.cuda.is_available():
        write(chosen.out, {"skipped": "torch %s has no CUDA device" % torch.__version__})
        return 3
    device = torch.device("cuda", chosen.device) if on_device else torch.device("cpu")
    synchronize = torch.cuda.synchronize if on_device else (lambda: None)

    results, failed = [], 0
    for check in torch_ops.all_checks(device):
        line = {"op": check.op, "title": check.title}
        if not on_device:
            check.move(within(library))
        try:
            errors, repeatable = compare(check, library, synchronize, chosen.repeats)
            near = all(share <= 1 for share, _ in errors.values())
            line.update(passed=near and repeatable, repeatable=repeatable, outputs={name: {"share": share, "largest": largest} for name, (share, largest) in errors.items()})
        except abi.Refused as refusal:
            line.update(passed=False, error=str(refusal))
        results.append(line)
        if not line["passed"]:
            failed += 1
            print("FAILED %s (%s): %s" % (check.op, check.title, line.get("error") or line), flush=True)
    compared = {line["op"] for line in results}
    missing = [op for op in library.contracts.ops if op not in compared]
    document = {"torch": torch.__version__, "library": library.name, "device": library.description.device.decode(), "repeats": chosen.repeats, "seconds": round(time.time() - began, 1), "checks": results, "missing": missing}
    write(chosen.out, document)
    print("%d checks of %d ops against torch %s: %d failed; no check: %s" % (len(results), len(compared), torch.__version__, failed, ", ".join(missing) or "none"))
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
