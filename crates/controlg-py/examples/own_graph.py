"""A NetworkX graph of your own, to embeddings, to a plain answer: who is alike?"""

# %% The graph: Zachary's karate club. Its nodes have no features, so they are made from the edges.
import networkx as nx
import numpy as np

from controlg import ControlG, evaluate

graph = nx.karate_club_graph()

# %% Pretraining. A small graph wants a small network and few parts.
model = ControlG(epochs=4, width=16, objective__p_par__parts=4, random_state=0)
embeddings = model.fit_transform(graph)
print(f"{len(model.nodes_)} nodes, {embeddings.shape[1]} columns; {model.notes_[0]}")

# %% Whose embedding is nearest to the instructor's, node 0?
unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
nearest = np.argsort(-unit @ unit[0])[1:4]
print("nearest to node 0:", [model.nodes_[at] for at in nearest])

# %% The club split in two; do the embeddings know how? A third of the nodes to learn from.
club = np.array([graph.nodes[node]["club"] == "Officer" for node in model.nodes_]).astype(int)
order = np.random.default_rng(0).permutation(len(club))
score = evaluate(embeddings, club, (order[:12], order[12:20], order[20:]))
print(f"club foretold for {score['value']:.0f} % of the nodes held back")

# %% Who learned how often, and the plan at the end.
schedule = model.schedule_
tasks, blocks = np.unique(schedule["task"], return_counts=True)
print({task: (int(n), round(float(schedule[f"plan_{task}"][-1]), 2)) for task, n in zip(tasks, blocks)})
