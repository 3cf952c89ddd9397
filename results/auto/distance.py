"""How far the choice of --auto is from the best candidate by validation labels: python3 distance.py before, or after

before/GRAPH.json and after/GRAPH.json are the auto.json of two searches, trials/GRAPH.jsonl the trials.jsonl of all candidates."""

import json
import sys
from pathlib import Path

gaps = []
print("| graph | own_share | chosen | accuracy | best | accuracy | first | gap |")
print("|---|---:|---:|---:|---:|---:|---:|---:|")
for path in sorted(Path(sys.argv[1]).glob("*.json")):
    graph = path.stem
    search = json.loads(path.read_text())
    trials = [json.loads(line) for line in Path("trials", f"{graph}.jsonl").read_text().splitlines()]
    by_settings = {tuple(trial["settings"]): trial["validation"] for trial in trials if trial["task"] == "nc"}
    scores = [by_settings[tuple(candidate["settings"])] for candidate in search["candidates"]]
    best, winner = max(range(len(scores)), key=scores.__getitem__), search["winner"]
    gaps.append(scores[best] - scores[winner])
    share = f"{search['own_share']:.2f}" if "own_share" in search else "–"
    row = [graph, share, winner + 1, f"{scores[winner]:.2f}", best + 1, f"{scores[best]:.2f}", f"{scores[0]:.2f}", f"{gaps[-1]:.2f}"]
    print(f"| {' | '.join(map(str, row))} |")
print(f"\nMean gap: {sum(gaps) / len(gaps):.2f} points")
