"""Embed a NetworkX graph and find the most similar nodes."""

# %% Zachary's karate club. It has no node features, so structural ones are computed from the edges.
import networkx as nx
import numpy as np

from controlg import ControlG, evaluate

graph = nx.karate_club_graph()

# %% Pretrain. A small graph needs a small network and few partitions.
model = ControlG(epochs=4, width=16, objective__p_par__parts=4, random_state=0)
embeddings = model.fit_transform(graph)
print(f"{len(model.nodes_)} nodes, {embeddings.shape[1]} columns; {model.notes_[0]}")

# %% The nodes most similar to the instructor, node 0.
unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
nearest = np.argsort(-unit @ unit[0])[1:4]
print("most similar to node 0:", [model.nodes_[at] for at in nearest])

# %% The club split in two. Predict each member's side from a third of the labels.
club = np.array([graph.nodes[node]["club"] == "Officer" for node in model.nodes_]).astype(int)
order = np.random.default_rng(0).permutation(len(club))
score = evaluate(embeddings, club, (order[:12], order[12:20], order[20:]))
print(f"side predicted for {score['value']:.0f} % of the test nodes")

# %% How many blocks each objective got, and its planned share at the end.
schedule = model.schedule_
tasks, blocks = np.unique(schedule["task"], return_counts=True)
print({task: (int(n), round(float(schedule[f"plan_{task}"][-1]), 2)) for task, n in zip(tasks, blocks)})
