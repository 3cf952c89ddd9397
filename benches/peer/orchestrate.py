"""Times all implementations of the peer comparison in alternation and prints the results. Called by `run`."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from math import isfinite
from pathlib import Path
from statistics import median

import workloads

HERE = Path(__file__).resolve().parent
CHECKED_STEPS = 4
TOLERANCE = 1e-4  # relative: four significant digits
BF16_TOLERANCE = 5e-3  # of losses with bf16 factors, which every side rounds in other places
ROUND_MS = 1_000  # target duration of a round of one side, within the bounds below
STEPS_IN_ROUND = (1, 10)
THREADS = "2"

# glibc returns large blocks to the system when they are freed, and every new block then costs one
# page fault per 4 KiB. Keeping them avoids nearly all page faults of PyTorch. Blocks above 1 GiB
# are still returned: only PyTorch Geometric has them (the messages of W3), and they would fragment
# the heap until it exceeds 24 GB.
KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(1 << 26),
}


def main() -> int:
    options = parse()
    commands = {} if options.skip_ours else {"ours": [build_ours()]}
    for name in ("torch", "plain", "pyg"):
        commands[name] = [sys.executable, str(HERE / f"{name}_side.py")]

    gflops, gb_s = machine_rates(commands)
    print(f"machine: {gflops:.0f} GFLOP/s dense, {gb_s:.1f} GB/s read and written, {THREADS} threads\n")
    results, agree = {}, True
    for name in options.workloads:
        times, peaks, same, parts = compare(name, sides_of(name, commands), options.rounds)
        agree &= same
        operations, moved = workloads.floor(name)
        floor = (operations / gflops + moved / gb_s) / 1e6
        results[name] = summary(times, peaks, floor)
        print_table(results[name], times, peaks, operations, moved, parts)
    if not agree:
        print("the losses differ", file=sys.stderr)
    if options.json:
        print(json.dumps(results))
    return 0 if agree else 1


def sides_of(workload: str, commands: dict) -> dict:
    """The sides of a workload with their arguments after the folder: those of two views run with bf16 factors too."""
    sides = {name: (command, []) for name, command in commands.items()}
    if workload in workloads.VIEWS:
        sides |= {f"{name}-bf16": (command, ["bf16"]) for name, command in commands.items()}
    return sides


def parse():
    parser = argparse.ArgumentParser(prog="run", description="Compares ControlG with PyTorch and PyTorch Geometric.")
    parser.add_argument("--json", action="store_true", help="print the results as JSON on the last line")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each side (default 7)")
    parser.add_argument("--workloads", default=",".join(workloads.SIZES), type=lambda text: text.split(","))
    parser.add_argument("--skip-ours", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := [name for name in options.workloads if name not in workloads.SIZES]:
        parser.error(f"unknown workload {unknown[0]!r}; expected some of {','.join(workloads.SIZES)}")
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}; expected at least 1")
    return options


def build_ours() -> str:
    """Builds our side and returns its executable, as named in the JSON messages of cargo."""
    command = ["cargo", "build", "--release", "-p", "controlg", "--bench", "peer", "--message-format=json"]
    built = subprocess.run(command, cwd=HERE.parents[1], stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        sys.exit("cargo could not build the bench `peer`")
    messages = map(json.loads, built.stdout.splitlines())
    for message in messages:
        if message.get("executable") and message["target"]["name"] == "peer":
            return message["executable"]
    sys.exit("cargo named no executable for the bench `peer`")


def environment(name: str) -> dict:
    variables = dict(os.environ, OMP_NUM_THREADS=THREADS, RAYON_NUM_THREADS=THREADS)
    return variables if name.startswith("ours") else variables | KEEP_MEMORY


def machine_rates(commands) -> tuple[float, float]:
    """The best dense rate and memory bandwidth that our kernels or PyTorch reach, in 10^9 per second."""
    measuring = [name for name in commands if name in ("ours", "torch")]
    gflops = max(rate(name, commands[name], "gemm", "gflops") for name in measuring)
    return gflops, max(rate(name, commands[name], "bandwidth", "gb_s") for name in measuring)


def rate(name: str, command: list, what: str, key: str) -> float:
    done = subprocess.run(command + [what], env=environment(name), capture_output=True, text=True)
    try:
        return json.loads(done.stdout)[key]
    except (json.JSONDecodeError, KeyError):
        sys.exit(f"{name} {what}: expected {{\"{key}\": ...}}, found {(done.stdout or done.stderr).strip()!r}")


class Side:
    """A child process that trains on request."""

    def __init__(self, name: str, command: list, workload: str, folder: str, rest: list):
        self.name = name
        self.process = subprocess.Popen(
            command + [workload, folder] + rest,
            env=environment(name) | {"TMPDIR": folder},  # PyTorch Geometric leaves temporary files
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.expect(lambda line: line == "ready")

    def run(self, steps: int) -> dict:
        self.process.stdin.write(f"run {steps}\n")
        self.process.stdin.flush()
        return json.loads(self.expect(lambda line: line.startswith("{")))

    def expect(self, accepts) -> str:
        line = self.process.stdout.readline().strip()
        if not accepts(line):
            sys.exit(f"{self.name}: unexpected output {line!r}")
        return line

    def quit(self) -> None:
        self.process.communicate("quit\n")


def compare(workload: str, commands: dict, rounds: int):
    """Step times and peak memory of every side, whether their losses agree, and the time of our products."""
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        workloads.generate(workload, Path(folder))
        sides = [Side(name, command, workload, folder, rest) for name, (command, rest) in commands.items()]
        first = {side.name: side.run(CHECKED_STEPS) for side in sides}
        same = check_losses(workload, {name: answer["loss"] for name, answer in first.items()})
        low, high = STEPS_IN_ROUND
        steps = {n: min(max(round(ROUND_MS / median(a["ms"])), low), high) for n, a in first.items()}
        times, peaks = {name: [] for name in commands}, {}
        for _ in range(rounds):
            for side in sides:
                answer = side.run(steps[side.name])
                times[side.name] += answer["ms"]
                peaks[side.name] = answer["peak_mb"]
        for side in sides:
            side.quit()
        parts = our_parts(commands["ours"][0], workload, folder) if "ours" in commands else None
    return times, peaks, same, parts


def our_parts(command: list, workload: str, folder: str) -> dict:
    """The time of the dense and of the sparse products of one of our steps, measured separately."""
    done = subprocess.run(command + ["parts", workload, folder], env=environment("ours"), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def check_losses(workload: str, losses: dict) -> bool:
    print(f"{workload}: {workloads.TITLES[workload]}")
    for name, values in losses.items():
        print(f"  loss {name:<11}" + "  ".join(f"{value:.6g}" for value in values))
    full = [values for name, values in losses.items() if not name.endswith("-bf16")]
    for values in zip(*full):
        close = max(values) - min(values) <= TOLERANCE * min(map(abs, values))
        if not (close and all(map(isfinite, values))):
            print("  LOSSES DIFFER")
            return False
    for name, values in losses.items():
        if any(not abs(a - b) <= BF16_TOLERANCE * abs(b) for a, b in zip(values, full[0])):
            print(f"  LOSSES OF {name} DIFFER")
            return False
    return True


def summary(times: dict, peaks: dict, floor: float) -> dict:
    ms = {name: median(values) for name, values in times.items()}
    key = lambda name: name.replace("-", "_")
    return {
        "ours_ms": float("nan"),
        **{f"{key(name)}_ms": round(value, 3) for name, value in ms.items()},
        **{
            f"vs_{key(name)}": round(value / ours(ms, name), 3)
            for name, value in ms.items()
            if not name.startswith("ours")
        },
        "peak_mb": round(peaks.get("ours", float("nan")), 1),
        "floor_ms": round(floor, 3),
    }


def ours(ms: dict, name: str) -> float:
    """The time of our side with the precision of this one."""
    return ms.get("ours-bf16" if name.endswith("-bf16") else "ours", float("nan"))


def print_table(row: dict, times: dict, peaks: dict, operations: float, moved: float, parts: dict | None) -> None:
    medians = {name: median(values) for name, values in times.items()}
    print(f"  {'':10}{'median ms':>11}{'fastest':>10}{'/ ours':>8}{'/ floor':>9}{'peak MB':>10}{'steps':>7}")
    for name, values in times.items():
        ms = medians[name]
        print(
            f"  {name:10}{ms:11.1f}{min(values):10.1f}{ms / ours(medians, name):8.2f}{ms / row['floor_ms']:9.2f}"
            f"{peaks[name]:10.0f}{len(values):7}"
        )
    print(f"  floor {row['floor_ms']:13.1f} ({operations / 1e9:.1f} GFLOP and {moved / 1e6:.0f} MB per step)")
    if parts:
        dense, sparse = parts["dense_ms"], parts["sparse_ms"]
        rest = row["ours_ms"] - dense - sparse
        # Measured separately from the steps; on a shared machine the sum may exceed the time of a step.
        rest = f"everything else {rest:.1f} ms" if rest > 0 else "more than a step: the machine was busy"
        print(f"  ours: dense products {dense:.1f}, sparse products {sparse:.1f}, {rest}")
    print(flush=True)


if __name__ == "__main__":
    sys.exit(main())
