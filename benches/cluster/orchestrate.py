"""Measures data-parallel pretraining under mpirun on this machine; see `run`."""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def main():
    options = arguments()
    if shutil.which("mpirun") is None:
        sys.exit("skipped: there is no mpirun")
    if options.program is None:
        build = ["cargo", "build", "--release", "--locked", "-p", "controlg-cli", "--features", "mpi"]
        subprocess.run(build, cwd=ROOT, check=True)
        options.program = TARGET / "release" / "controlg"
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        home = Path(scratch)
        graph = home / "graph"
        source = f"synthetic:nodes={options.nodes},features={options.features}"
        subprocess.run([options.program, "data", "convert", source, graph, "--to", "binary"], check=True)
        for part, measure in {"bytes": same_bytes, "sent": bytes_sent, "speed": speed}.items():
            if part in options.only.split(","):
                measure(home, graph, options)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--turns", type=int, default=3, help="runs with 1 and with 2 ranks, in turns")
    parser.add_argument("--only", default="bytes,sent,speed")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--bandwidth", type=float, default=10.0, help="Gbit/s of a rank, for the projection")
    parser.add_argument("--latency", type=float, default=50.0, help="microseconds of a collective, for the projection")
    parser.add_argument("--program", type=Path, help="a build with the feature mpi, instead of a new one")
    parser.add_argument("--scratch", help="folder for the graph and the runs")
    return parser.parse_args()


def command(ranks, graph, out, options, *more, network=()):
    """The command of a run with one thread per rank."""
    launcher = [] if ranks == 1 else ["mpirun", "--oversubscribe", *network, "-n", str(ranks)]
    sets = {"batch": "cluster", "shards": options.shards, "epochs": 4, "batches_per_epoch": options.steps // 4}
    settings = [f"--set=train.{key}={value}" for key, value in sets.items()]
    pretrain = ["pretrain", graph, "--out", out, "--threads", "1", "--quiet", f"--set=encoder.width={options.width}"]
    return [*launcher, options.program, *pretrain, *settings, *more]


def run(ranks, graph, out, options, *more):
    subprocess.run(command(ranks, graph, out, options, *more), check=True, env=environment(), stdout=subprocess.DEVNULL)


def environment():
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def same_bytes(home, graph, options):
    digests = {}
    for ranks in (1, 2, 4):
        run(ranks, graph, home / f"ranks-{ranks}", options)
        digests[f"{ranks} ranks"] = digest(home / f"ranks-{ranks}")
    out = home / "killed"
    process = subprocess.Popen(command(4, graph, out, options), env=environment())
    while process.poll() is None and not list(out.glob("checkpoint/step-*")):
        time.sleep(0.2)
    # The ranks, which are children of mpirun.
    subprocess.run(["pkill", "-KILL", "-P", str(process.pid)])
    process.wait()
    if (out / "embeddings.npy").exists():
        sys.exit("the run ended before it was killed: use more --steps")
    run(2, graph, out, options, "--resume")
    digests["killed with 4, resumed with 2"] = digest(out)
    for name, value in digests.items():
        print(f"{name:32} embeddings and record {value[:16]}")
    if len(set(digests.values())) != 1:
        sys.exit("the bytes differ")


def digest(out):
    """A hash of the embeddings and of the record without times."""
    found = hashlib.sha256((out / "embeddings.npy").read_bytes())
    for record in records(out):
        found.update(json.dumps({key: value for key, value in record.items() if key not in ("ms", "seal")}).encode())
    return found.hexdigest()


def records(out):
    return [json.loads(line) for line in (out / "trace.jsonl").read_text().splitlines()]


def bytes_sent(home, graph, options):
    """Bytes per step that two ranks send each other, counted by a network of their own, beside the formula."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None:
        print("skipped: bytes per step: a network of its own needs root, unshare and ip")
        return
    script = 'ip link set lo up; "$@" >/dev/null; sed -n "s/.*lo: *//p" /proc/net/dev'
    over_tcp = ("--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo")
    plain = ["--set=method=p_recon", "--set=train.quality=false", "--set=train.epochs=1"]
    counts = {}
    for steps in (16, 48):
        out = home / f"sent-{steps}"
        ranks = command(2, graph, out, options, *plain, f"--set=train.batches_per_epoch={steps}", network=over_tcp)
        counting = ["unshare", "--net", "sh", "-c", script, "sh", *map(str, ranks)]
        done = subprocess.run(counting, check=True, env=environment(), capture_output=True, text=True)
        counts[steps] = int(done.stdout.split()[0])
    counted = (counts[48] - counts[16]) / 32
    expected = 2 * gradient_bytes(home / "sent-48")
    print(f"2 ranks send {counted:.0f} bytes per step, with headers; the formula has {expected}: {counted / expected:.3f} x")


def gradient_bytes(run):
    """The bytes of the parameters of the encoder and of the largest head."""
    model = (run / "model.safetensors").read_bytes()
    tensors = json.loads(model[8 : 8 + int.from_bytes(model[:8], "little")])
    sizes = {}
    for name, tensor in tensors.items():
        if name != "__metadata__" and name.split("/")[0] != "norm":
            begin, end = tensor["data_offsets"]
            sizes[name.split("/")[0]] = sizes.get(name.split("/")[0], 0) + end - begin
    return sizes.pop("encoder") + max(sizes.values(), default=0)


def speed(home, graph, options):
    """Steps per second with 1 and 2 ranks, in turns, and what the model of docs/src/clusters.md expects of more."""
    turns = []
    for turn in range(options.turns):
        blocks = {}
        for ranks in (1, 2):
            out = home / f"speed-{turn}-{ranks}"
            run(ranks, graph, out, options, "--set=train.quality=false")
            blocks[ranks] = [line["ms"] / line["steps"] / 1e3 for line in records(out) if line["kind"] == "block"]
        # Both runs have the same blocks, since their decisions are the same.
        ratio = statistics.median(one / two for one, two in zip(blocks[1], blocks[2]))
        one, two = (1 / statistics.mean(blocks[ranks]) for ranks in (1, 2))
        print(f"steps per second: {one:.2f} with 1 rank, {two:.2f} with 2; median over the blocks {ratio:.2f} x", flush=True)
        turns.append((ratio, 1 / one))
    print(f"median of {len(turns)} turns: {statistics.median(ratio for ratio, _ in turns):.2f} x")
    # Other work on the machine only adds to the time.
    batch = min(alone for _, alone in turns) / options.shards
    gradient = gradient_bytes(home / "speed-0-1")
    print(f"a mini-batch takes {1e3 * batch:.1f} ms; the gradients have {gradient} bytes")
    for ranks in (8, 64):
        shards = max(options.shards, ranks)
        sent = 2 * gradient * (ranks - 1) / ranks
        step = shards / ranks * batch + sent / (options.bandwidth * 1e9 / 8) + 2 * ranks * options.latency * 1e-6
        print(
            f"{ranks} ranks, {shards} shards: {1e3 * step:.1f} ms per step, {shards * batch / step:.1f} x; "
            f"{sent / 1e6:.2f} MB sent per rank and step"
        )


if __name__ == "__main__":
    main()
