"""Times the kernels of the CUDA library against a device copy and against torch, in one run, through the C ABI.

    python3 bench.py --library libsurprisal_cuda.so --out bench.jsonl --facts facts.json [--minutes N] [--tiny]

In every round the copy, this library and the peers run right after one another in an order that rotates; a time is that of a
backlog of calls of 20 ms or more, divided by their number, so that a launch hides behind the call before it. Arrays that fit
into the L2 cache are taken in turn from sets that together do not. Shares and ratios are medians of those within a round. A
line without a passed comparison of its outputs is not written. Exit status: 0 done, 1 a result was wrong, 3 it could not be run.
"""

import argparse
import json
import statistics
import sys
import time

import abi

ROUNDS, BACKLOG = 7, 0.02


def spread(values):
    ordered = sorted(values)
    pick = lambda q: ordered[min(len(ordered) - 1, int(q * len(ordered)))]  # noqa: E731
    return {"median": statistics.median(ordered), "p20": pick(0.2), "p80": pick(0.8)}


class Clock:
    def __init__(self, synchronize, backlog):
        self.synchronize, self.backlog = synchronize, backlog

    def seconds(self, run, calls):
        self.synchronize()
        began = time.perf_counter()
        for i in range(calls):
            run(i)
        self.synchronize()
        return (time.perf_counter() - began) / calls

    def calls(self, run):
        """How many make a backlog. The first run warms up; a slow peer is run once."""
        self.seconds(run, 1)
        once = self.seconds(run, 1)
        return max(1, min(2000, int(self.backlog / max(once, 1e-7))))


def agrees(torch, got, want, near):
    if near == 0.0:
        count = want.shape[0]
        return bool(torch.equal(got[:count].long(), want.long()))
    a, b = got.float(), want.float()
    return bool(((a - b).abs() <= near * (1 + b.abs())).all())


class Bench:
    def __init__(self, torch, library, device, tiny, facts):
        self.torch, self.library, self.device, self.tiny, self.facts = torch, library, device, tiny, facts
        self.on_device = device.type == "cuda"
        self.l2 = torch.cuda.get_device_properties(device).L2_cache_size if self.on_device and hasattr(torch.cuda.get_device_properties(device), "L2_cache_size") else 64 << 20
        self.clock = Clock(self.synchronize, BACKLOG if self.on_device else 1e-3)
        try:
            import triton_forms

            self.triton, self.no_triton = triton_forms.FORMS, None
        except Exception as error:  # noqa: BLE001 - an import of triton fails in many ways
            self.triton, self.no_triton = {}, "%s: %s" % (type(error).__name__, error)

    def synchronize(self):
        if self.on_device:
            self.torch.cuda.synchronize()
        self.library.sync()

    def prepare(self, work, tensors, outputs):
        pointers = {name: tensor.data_ptr() for name, tensor in {**tensors, **outputs}.items() if hasattr(tensor, "data_ptr")}
        return self.library.prepare(work.call, **pointers, **work.numbers)

    def contenders(self, work, sets):
        """(name, run(i)) of everybody who can do it, this library first, and why others are absent."""
        ours = [self.prepare(work, tensors, outputs) for tensors, outputs in sets]
        found, absent = [("surprisal", lambda i: ours[i % len(ours)]())], {}

        def peer(name, function):
            run = lambda i: function(sets[i % len(sets)][0])  # noqa: E731
            try:
                run(0)
                self.synchronize()
                found.append((name, run))
            except Exception as error:  # noqa: BLE001 - a peer that cannot do it is reported, whatever it says
                absent[name] = "%s: %s" % (type(error).__name__, str(error).split("\n")[0][:200])

        if work.eager:
            peer("torch eager", work.eager)
            if self.on_device and work.call != "scan_gae":  # a loop of thousands of steps does not compile in any time
                self.torch._dynamo.reset()  # else it falls back to eager after a few shapes, and is timed under this name
                peer("torch.compile", self.torch.compile(work.eager, dynamic=False))
        for name, bound in work.bounds.items():
            peer(name, bound)
        if work.plain and self.on_device:
            if work.plain in self.triton:
                peer("triton", self.triton[work.plain])
            else:
                absent["triton"] = self.no_triton
        return found, absent

    def check(self, work, sets):
        """None where every output that the eager form has agrees with it, else what does not."""
        tensors, outputs = sets[0]
        for output in outputs.values():
            output.fill_(float("nan") if output.is_floating_point() else 119)
        self.synchronize()
        self.prepare(work, tensors, outputs)()
        self.synchronize()
        if not work.eager:
            return None
        for name, want in work.eager(tensors).items():
            if not agrees(self.torch, outputs[name], want, work.near):
                return name
        return None

    def run(self, work):
        torch = self.torch
        count = max(1, min(8, -(-2 * self.l2 // work.least))) if self.on_device else 1
        sets = [work.make(seed) for seed in range(count)]
        wrong = self.check(work, sets)
        if wrong:
            return [], "%s does not agree with torch: not timed" % wrong
        # The copy moves as many bytes as the work does at least: half of them read, half written.
        source = torch.empty(max(1, work.least // 2), dtype=torch.uint8, device=self.device)
        target = torch.empty_like(source)
        copies = max(1, min(8, -(-2 * self.l2 // work.least)))
        pairs = [(source, target)] + [(torch.empty_like(source), torch.empty_like(source)) for _ in range(copies - 1)]
        contenders, absent = self.contenders(work, sets)
        everybody = [("copy", lambda i: pairs[i % len(pairs)][1].copy_(pairs[i % len(pairs)][0]))] + contenders
        calls = {name: self.clock.calls(run) for name, run in everybody}
        times = {name: [] for name, _ in everybody}
        for turn in range(ROUNDS + 1):
            for i in range(len(everybody)):
                name, run = everybody[(i + turn) % len(everybody)]
                seconds = self.clock.seconds(run, calls[name])
                if turn > 0:
                    times[name].append(seconds)
        return [self.line(work, name, times) for name, _ in contenders], "; ".join("%s: %s" % pair for pair in absent.items())

    def line(self, work, name, times):
        own, copy, first = times[name], times["copy"], times["surprisal"]
        moved = 2 * max(1, work.least // 2)
        line = {
            "format": 1, "run": self.facts, "kernel": work.kernel, "op": work.op, "backend": self.library.name,
            "level": "%d.%d" % (self.library.description.compute_major, self.library.description.compute_minor) if name == "surprisal" else "",
            "contender": name, "shape": {"name": work.shape[0], "sizes": work.shape[1]}, "dtype": work.dtype, "rowKind": work.row_kind, "threads": 0,
            "metric": "time", "unit": "ms", "time": spread([t * 1e3 for t in own]), "repetitions": len(own),
            "bytes": {"least": work.least, "formula": work.formula},
            "roof": {"kind": "device copy", "gigabytesPerSecond": spread([moved / t / 1e9 for t in copy])},
            "share": spread([(work.least / t) / (moved / c) for t, c in zip(own, copy)]), "error": {},
        }
        if name != "surprisal":
            line["ratio"] = spread([t / o for t, o in zip(own, first)])
        return line


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--library", required=True)
    options.add_argument("--facts", required=True)
    options.add_argument("--out", required=True)
    options.add_argument("--minutes", type=float, default=20)
    options.add_argument("--device", type=int, default=0)
    options.add_argument("--tiny", action="store_true")
    chosen = options.parse_args()
    end = time.monotonic() + 60 * chosen.minutes
    try:
        import torch
    except ImportError as error:
        print("skipped: python3 has no torch: %s" % error)
        return 3
    import work as works

    library = abi.Library(chosen.library, chosen.device)
    if not library.description.available:
        print("skipped: %s" % library.description.reason.decode())
        return 3
    if library.name == "cuda" and not torch.cuda.is_available():
        print("skipped: torch %s has no CUDA device" % torch.__version__)
        return 3
    device = torch.device("cuda", chosen.device) if library.name == "cuda" else torch.device("cpu")
    with open(chosen.facts, encoding="utf-8") as file:
        facts = json.load(file)
    facts["versions"] = {**facts.get("versions", {}), "torch": torch.__version__, "python": sys.version.split()[0]}
    bench = Bench(torch, library, device, chosen.tiny, facts)
    wrong = 0
    with open(chosen.out, "w", encoding="utf-8") as out:
        for build in works.everything(device, chosen.tiny):
            if time.monotonic() > end:
                print("stopped after %g minutes: what is left was not timed" % chosen.minutes)
                break
            work = build()
            try:
                lines, note = bench.run(work)
            except Exception as error:  # noqa: BLE001 - one case that fails must not take the others along
                print("%s: FAILED, %s: %s" % (work.title(), type(error).__name__, error), flush=True)
                wrong += 1
                continue
            wrong += not lines
            for line in lines:
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
                more = "" if line["contender"] == "surprisal" else ", %.2fx" % line["ratio"]["median"]
                print("%s: %s %.4g ms, %.2f of copy%s" % (work.title(), line["contender"], line["time"]["median"], line["share"]["median"], more), flush=True)
            if note:
                print("%s: %s" % (work.title(), note), flush=True)
            out.flush()
            if library.name == "cuda":
                torch.cuda.empty_cache()
    if wrong:
        print("%d cases were wrong or failed" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
