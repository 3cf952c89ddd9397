"""Runs the program on ogbn-arxiv and on random graphs of growing size, and prints one table for each."""

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
FIVE = "p_link,p_recon,p_minsg,p_decor,p_par"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="100000,1000000", help="nodes of the random graphs")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--no-arxiv", action="store_true")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", default=None, help="where graphs and runs go [default: a new one, removed after]")
    args = parser.parse_args()
    build()
    home = Path(args.folder or tempfile.mkdtemp(prefix="controlg-large-"))
    home.mkdir(parents=True, exist_ok=True)
    results = {}
    try:
        if not args.no_arxiv:
            results["arxiv"] = arxiv(home, args.steps, not args.no_peer)
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
    made = [json.loads(line) for line in lines]
    names = [line["executable"] for line in made if line.get("executable") and line["target"]["name"] == "large"]
    globals()["LARGE"] = names[-1]


def program(*arguments) -> str:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    command = [target / "release" / "controlg", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def pretrain(home: Path, data: str, steps: int, name: str, *more) -> dict:
    """A short run: the median time of a step, of a sensing, and the most memory of the process, embeddings included."""
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
    # The features may not be there; the topology is what counts.
    common = ["features=structural", "encoder.width=256"]
    results = {
        "full": pretrain(home, "ogbn-arxiv", max(steps // 2, 12), "arxiv-full", *common, "train.batch=full"),
        "parts": pretrain(home, "ogbn-arxiv", steps, "arxiv-parts", *common, "train.batch=parts"),
        "neighbours": pretrain(home, "ogbn-arxiv", steps, "arxiv-neighbours", *common, "train.batch=neighbours"),
    }
    if peer and PEER.exists():
        mapped = home / "arxiv-mapped"
        program("data", "convert", "ogbn-arxiv", mapped, "--to", "mapped", "--features", "structural", "--quiet")
        results["pyg over ours"] = {kind: against_pyg(home, mapped, kind, steps, results) for kind in ("parts", "neighbours")}
    elif peer:
        print("benches/peer/run makes the environment of the other side; it is not there yet", file=sys.stderr)
    return results


def against_pyg(home: Path, mapped: Path, kind: str, steps: int, results: dict) -> float:
    """One loss on the same batches, ours and PyTorch Geometric's one after the other."""
    batches = home / f"arxiv-batches-{kind}"
    subprocess.run([LARGE, "batches", str(mapped), kind, "10", str(batches)], check=True, stdout=subprocess.DEVNULL)
    alone = ["method=p_par", f"train.batch={kind}", "normalise=none", "encoder.norm=layer", "encoder.width=256"]
    ours = results[f"{kind}, one loss"] = pretrain(home, str(mapped), steps, "arxiv-one", *alone)
    environment = {**os.environ, "MALLOC_TOP_PAD_": "1073741824", "MALLOC_MMAP_THRESHOLD_": "1073741824"}
    command = [PEER, HERE / "pyg_side.py", mapped, batches, "256", str(max(1, steps // 10))]
    theirs = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    results[f"{kind}, one loss, pyg"] = json.loads(theirs.splitlines()[-1])
    return results[f"{kind}, one loss, pyg"]["step"] / ours["mean_step"]


def size(home: Path, nodes: int, steps: int) -> dict:
    folder = home / f"random-{nodes}"
    if not folder.exists():
        subprocess.run([LARGE, "generate", str(nodes), str(folder)], check=True)
    sets = ["encoder.width=128", "normalise=none", "train.batch=parts", f"objectives={FIVE}"]
    result = {"nodes": nodes, "mapped": pretrain(home, str(folder), steps, f"run-{nodes}", *sets)}
    if nodes > 2_000_000:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def show(results: dict) -> None:
    def line(name, r):
        sensing = f"{r['sensing']:.3f}" if r.get("sensing") is not None else ""
        rest = f"{r['before_and_after']:.0f}" if "before_and_after" in r else ""
        print(f"| {name} | {r['step']:.4f} | {1 / r['step']:.1f} | {sensing} | {rest} | {r['peak_mb']:.0f} |")

    head = "| | s a step (median) | steps a second | s a sensing | s before and after training | peak MB |\n|---|---|---|---|---|---|"
    if "arxiv" in results:
        print("ogbn-arxiv, structural features, width 256, two threads\n")
        print(head)
        for name, r in results["arxiv"].items():
            if "step" in r:
                line(name, r)
        for kind, ratio in results["arxiv"].get("pyg over ours", {}).items():
            print(f"\nPyTorch Geometric's step over ours, same batches ({kind}), one loss: {ratio:.2f}")
    if results["sizes"]:
        print("\nRandom graphs, average degree 10, 128 features on disk, width 128, five objectives, two threads\n")
        print(head)
        for r in results["sizes"]:
            line(f"{r['nodes']} nodes", r["mapped"])


main()
