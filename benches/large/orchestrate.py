"""Runs ControlG on ogbn-arxiv and on random graphs of increasing size, and prints one table for each."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PEER = ROOT / "benches" / "peer" / ".venv" / "bin" / "python"
SITE = HERE / ".site"
FIVE = "p_link,p_recon,p_minsg,p_decor,p_par"
# Seed nodes and fan-out of two-hop neighbor sampling: our default of at most 8192 nodes, and 1024 seed nodes as usual in
# PyTorch Geometric.
SAMPLING = [(112, 8), (1024, 10), (1024, 15)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="100000,1000000", help="numbers of nodes of the random graphs")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--no-arxiv", action="store_true")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--neighbor-loader", action="store_true", help="also compare with PyTorch Geometric's NeighborLoader; builds torch-sparse once")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", default=None, help="folder for graphs and runs [default: a temporary one]")
    args = parser.parse_args()
    build()
    if args.neighbor_loader:
        get_neighbor_loader()
    home = Path(args.folder or tempfile.mkdtemp(prefix="controlg-large-"))
    home.mkdir(parents=True, exist_ok=True)
    results = {}
    try:
        if not args.no_arxiv:
            results["arxiv"] = arxiv(home, args.steps, not args.no_peer)
        if args.neighbor_loader:
            results["neighbor loader"] = [against_loader(home, args.steps, *sampling) for sampling in SAMPLING]
        results["sizes"] = [size(home, int(nodes), args.steps) for nodes in args.sizes.split(",") if nodes]
    finally:
        if args.folder is None:
            shutil.rmtree(home, ignore_errors=True)
    show(results)
    if args.json:
        print(json.dumps(results))


def build() -> None:
    subprocess.run(["cargo", "build", "--release", "-p", "controlg-cli"], cwd=ROOT, check=True)
    command = ["cargo", "build", "--release", "-p", "controlg", "--bench", "large", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    messages = [json.loads(line) for line in lines]
    names = [line["executable"] for line in messages if line.get("executable") and line["target"]["name"] == "large"]
    globals()["LARGE"] = names[-1]


def program(*arguments) -> str:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    command = [target / "release" / "controlg", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def pretrain(home: Path, data: str, steps: int, name: str, *more) -> dict:
    """A short run: median time of a step and of a sensing phase, and peak memory of the process, embeddings included."""
    out = home / name
    shutil.rmtree(out, ignore_errors=True)
    sets = ["train.epochs=1", f"train.batches_per_epoch={steps}", "train.warmup_rounds=1", "train.block=1", *more]
    flags = [flag for setting in sets for flag in ("--set", setting)]
    outcome = json.loads(program("pretrain", data, "--out", out, "--json", "--quiet", "--threads", 2, *flags))
    lines = [json.loads(line) for line in (out / "trace.jsonl").read_text().splitlines()]
    step = [line["ms"] / line["steps"] / 1e3 for line in lines if line["kind"] == "block"]
    sense = [line["ms"] / 1e3 for line in lines if line["kind"] == "sense"]
    seconds = outcome["seconds"] - sum(outcome["timings"].values())
    shutil.rmtree(out, ignore_errors=True)
    return {
        "step": statistics.median(step[2:] or step),
        "mean_step": outcome["timings"]["training"] / outcome["steps"],
        "sensing": statistics.median(sense) if sense else None,
        "before_and_after": seconds,
        "peak_mb": (outcome["peak_bytes"] or 0) / 1e6,
    }


def arxiv(home: Path, steps: int, peer: bool) -> dict:
    # Structural features: the original ones may not be available.
    common = ["features=structural", "encoder.width=256"]
    results = {
        "full": pretrain(home, "ogbn-arxiv", max(steps // 2, 12), "arxiv-full", *common, "train.batch=full"),
        "parts": pretrain(home, "ogbn-arxiv", steps, "arxiv-parts", *common, "train.batch=parts"),
        "neighbors": pretrain(home, "ogbn-arxiv", steps, "arxiv-neighbors", *common, "train.batch=neighbors"),
    }
    if peer and PEER.exists():
        binary = binary_arxiv(home)
        results["pyg over ours"] = {kind: against_pyg(home, binary, kind, steps, results) for kind in ("parts", "neighbors")}
    elif peer:
        print("no PyTorch environment: run benches/peer/run first", file=sys.stderr)
    return results


def against_pyg(home: Path, binary: Path, kind: str, steps: int, results: dict) -> float:
    """One objective on the same mini-batches, with ControlG and then with PyTorch Geometric."""
    batches = home / f"arxiv-batches-{kind}"
    sets = [f"train.batch={kind}", "method=p_par"]
    subprocess.run([LARGE, "batches", str(binary), "10", str(batches), *sets], check=True, stdout=subprocess.DEVNULL)
    alone = ["method=p_par", f"train.batch={kind}", "normalize=none", "encoder.norm=layer", "encoder.width=256"]
    ours = results[f"{kind}, one loss"] = pretrain(home, str(binary), steps, "arxiv-one", *alone)
    theirs = results[f"{kind}, one loss, pyg"] = pyg("pyg_side.py", binary, batches, 256, max(1, steps // 10))
    return theirs["step"] / ours["mean_step"]


def against_loader(home: Path, steps: int, seeds: int, fanout: int) -> dict:
    """Neighbor sampling and training with induced subgraphs of the same size: ours, NeighborLoader without and with a worker
    process, and ours again, with the features in memory."""
    binary = binary_arxiv(home)
    sets = ["method=p_par", "objective.p_par.parts=20", "features=structural", "normalize=none", "encoder.norm=layer"]
    sets += ["encoder.width=256", "encoder.layers=2", "train.batch=neighbors", f"train.fanout={fanout}"]
    sets += [f"train.batch_nodes={seeds * (1 + fanout + fanout * fanout)}"]
    ours = [pretrain(home, "ogbn-arxiv", steps, "arxiv-sampling", *sets)]
    theirs = [pyg("loader_side.py", binary, 256, seeds, fanout, max(12, steps // 3), workers) for workers in (0, 1)]
    ours.append(pretrain(home, "ogbn-arxiv", steps, "arxiv-sampling", *sets))
    return {
        "seeds": seeds,
        "fanout": fanout,
        "nodes": theirs[0]["nodes"],
        "edges": theirs[0]["edges"],
        "ours": statistics.mean(run["step"] for run in ours),
        "ours_peak_mb": max(run["peak_mb"] for run in ours),
        "pyg": [run["step"] for run in theirs],
        "pyg_peak_mb": theirs[0]["peak_mb"],
    }


def binary_arxiv(home: Path) -> Path:
    binary = home / "arxiv-binary"
    if not binary.exists():
        program("data", "convert", "ogbn-arxiv", binary, "--to", "binary", "--features", "structural", "--quiet")
    return binary


def pyg(script: str, *arguments) -> dict:
    """Runs a PyTorch Geometric script and returns its results. glibc keeps freed memory, which makes it faster."""
    keep = {"MALLOC_TOP_PAD_": "1073741824", "MALLOC_MMAP_THRESHOLD_": "1073741824", "PYTHONPATH": str(SITE)}
    command = [PEER, HERE / script, *map(str, arguments)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **keep}).stdout
    return json.loads(output.splitlines()[-1])


def get_neighbor_loader() -> None:
    if not PEER.exists():
        sys.exit("no PyTorch environment: run benches/peer/run first")
    if SITE.exists():
        return
    building = SITE.with_name(".site.new")
    shutil.rmtree(building, ignore_errors=True)
    command = [PEER, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--target", building]
    subprocess.run([*command, "-r", HERE / "requirements.txt"], check=True, env={**os.environ, "FORCE_ONLY_CPU": "1"})
    building.rename(SITE)


def size(home: Path, nodes: int, steps: int) -> dict:
    folder = home / f"random-{nodes}"
    if not folder.exists():
        subprocess.run([LARGE, "generate", str(nodes), str(folder)], check=True)
    sets = ["encoder.width=128", "normalize=none", "train.batch=parts", f"objectives={FIVE}"]
    result = {"nodes": nodes, "run": pretrain(home, str(folder), steps, f"run-{nodes}", *sets)}
    if nodes > 2_000_000:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def show(results: dict) -> None:
    def line(name, r):
        sensing = f"{r['sensing']:.3f}" if r.get("sensing") is not None else ""
        rest = f"{r['before_and_after']:.0f}" if "before_and_after" in r else ""
        print(f"| {name} | {r['step']:.4f} | {1 / r['step']:.1f} | {sensing} | {rest} | {r['peak_mb']:.0f} |")

    head = "| | s per step (median) | steps per second | s per sensing | s before and after training | peak MB |\n|---|---|---|---|---|---|"
    if "arxiv" in results:
        print("ogbn-arxiv, structural features, width 256, two threads\n")
        print(head)
        for name, r in results["arxiv"].items():
            if "step" in r:
                line(name, r)
        for kind, ratio in results["arxiv"].get("pyg over ours", {}).items():
            print(f"\nPyTorch Geometric's step time over ours, same mini-batches ({kind}), one objective: {ratio:.2f}")
    if "neighbor loader" in results:
        print("\nNeighbor sampling and training step on ogbn-arxiv, one objective, width 256; NeighborLoader (induced) without and with a worker process\n")
        print("| seed nodes, fan-out | nodes, edges | ours, s | peak MB | PyTorch Geometric, s | peak MB | its best over ours |")
        print("|---|---|---|---|---|---|---|")
        for r in results["neighbor loader"]:
            ratio, both = min(r["pyg"]) / r["ours"], " and ".join(f"{step:.3f}" for step in r["pyg"])
            sizes = f"{r['seeds']}, {r['fanout']} | {r['nodes']:,.0f}, {r['edges']:,.0f} | {r['ours']:.3f}"
            print(f"| {sizes} | {r['ours_peak_mb']:.0f} | {both} | {r['pyg_peak_mb']:.0f} | {ratio:.2f} |")
    if results["sizes"]:
        print("\nRandom graphs, average degree 10, 128 features on disk, width 128, five objectives, two threads\n")
        print(head)
        for r in results["sizes"]:
            line(f"{r['nodes']} nodes", r["run"])


main()
