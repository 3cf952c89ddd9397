"""Differences of planner variants to `random` with the same optimizer, paired by column and seed:
python3 summary.py *.jsonl"""

import json
import sys
from collections import defaultdict

# (pool, data, task, seed) -> variant -> validation figure
columns = defaultdict(dict)
for path in sys.argv[1:]:
    data, pool = path.rsplit("/")[-1].removesuffix(".jsonl").split("-", 1)
    with open(path) as file:
        for line in file:
            trial = json.loads(line)
            if trial["validation"] is not None:
                variant = (trial["method"], " ".join(sorted(trial["settings"])))
                columns[pool, data, trial["task"], trial["seed"]][variant] = trial["validation"]

for pool in sorted({key[0] for key in columns}):
    own = {key: found for key, found in columns.items() if key[0] == pool}
    names = sorted({key[1:3] for key in own})
    print(f"\n{pool}\n\n| variant | {' | '.join(f'{data}, {task}' for data, task in names)} | mean difference | runs |")
    print(f"|---|{'---:|' * (len(names) + 2)}")
    for variant in sorted({variant for found in own.values() for variant in found}):
        moments = "train.per_task_moments=true" in variant[1]
        reference = ("random", f"train.per_task_moments={str(moments).lower()}")
        means, differences = [], []
        for name in names:
            values = [(found[variant], found.get(reference)) for key, found in own.items() if key[1:3] == name and variant in found]
            means.append(f"{sum(value for value, _ in values) / len(values):.2f}" if values else "–")
            differences += [value - other for value, other in values if other is not None]
        n = len(differences)
        mean = sum(differences) / max(n, 1)
        error = (sum((d - mean) ** 2 for d in differences) / max(n - 1, 1) / max(n, 1)) ** 0.5
        print(f"| `{variant[0]}` {variant[1]} | {' | '.join(means)} | {mean:+.2f} (s.e. {error:.2f}) | {n} |")
