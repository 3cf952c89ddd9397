"""Compare methods on one graph and plot the result."""

# %% Three methods and the training-free floors, two seeds each.
from collections import defaultdict
from statistics import mean, stdev

import matplotlib
import matplotlib.pyplot as plt

from controlg import compare

results = compare(
    "synthetic:nodes=300",
    ["controlg", "random", "uniform"],
    seeds=2,
    tasks="nc",
    singles=False,
    epochs=2,
    width=32,
)

# %% A table.
values = defaultdict(list)
for cell in results:
    values[cell["method"]].append(cell["value"])
for method, found in sorted(values.items(), key=lambda item: -mean(item[1])):
    print(f"{method:<12} {mean(found):6.2f} ± {stdev(found):.2f} % accuracy")

# %% A plot.
matplotlib.use("Agg")  # to a file
fig, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.barh(list(values), [mean(found) for found in values.values()], xerr=[stdev(found) for found in values.values()])
axes.set_xlabel("accuracy of a linear probe, %")
fig.savefig("comparison.png", dpi=150)
print("comparison.png")
