"""The parameters of ``ControlG``. Written by tests/write_parameters.py from the settings of the library; do not edit."""

from __future__ import annotations

import os
from typing import Any, Callable, Literal, Optional, Sequence, Union

from ._settings import accepts_other_names

#: Called as ``callback(steps_done, total_steps, line)``; stops the training by returning ``True``.
Callback = Callable[[int, int, "dict[str, Any]"], object]


class Parameters:
    """Holds the parameters, as passed."""

    @accepts_other_names
    def __init__(
        self,
        *,
        method: str = "controlg",
        objectives: Optional[Sequence[str]] = None,
        epochs: Optional[int] = None,
        width: Optional[int] = None,
        random_state: int = 0,
        n_jobs: Optional[int] = None,
        verbose: Union[bool, int] = False,
        callbacks: Optional[Sequence[Callback]] = None,
        callback: Optional[Callback] = None,
        data: Optional[str] = None,
        auto: bool = False,
        data_dir: Union[str, "os.PathLike[str]", None] = None,
        features: Optional[Literal["given", "structural"]] = None,
        normalize: Optional[Literal["auto", "rows", "columns", "none"]] = None,
        edges: Optional[Literal["all", "train"]] = None,
        directed: Optional[bool] = None,
        preset: Optional[Literal["tuned", "paper"]] = None,
        encoder__kind: Optional[str] = None,
        encoder__layers: Optional[int] = None,
        encoder__hidden: Optional[int] = None,
        encoder__norm: Optional[Literal["batch", "layer", "none"]] = None,
        encoder__activation: Optional[Literal["prelu", "relu", "elu", "identity"]] = None,
        encoder__last: Optional[Literal["activation", "linear"]] = None,
        encoder__dropout: Optional[float] = None,
        encoder__feature_dropout: Optional[float] = None,
        encoder__jump: Optional[Literal["last", "concat"]] = None,
        encoder__operator: Optional[Literal["symmetric", "mean"]] = None,
        encoder__self_loops: Optional[bool] = None,
        encoder__heads: Optional[int] = None,
        encoder__negative_slope: Optional[float] = None,
        encoder__attention_dropout: Optional[float] = None,
        encoder__init: Optional[Literal["uniform", "normal"]] = None,
        encoder__bases: Optional[int] = None,
        train__batches_per_epoch: Optional[int] = None,
        train__block: Optional[int] = None,
        train__lr: Optional[float] = None,
        train__schedule: Optional[Literal["constant", "cosine"]] = None,
        train__warmup_steps: Optional[int] = None,
        train__weight_decay: Optional[float] = None,
        train__clip: Optional[float] = None,
        train__warmup_rounds: Optional[int] = None,
        train__per_task_moments: Optional[bool] = None,
        train__batch: Optional[Literal["auto", "full", "cluster", "neighbor"]] = None,
        train__batch_nodes: Optional[int] = None,
        train__fanout: Optional[int] = None,
        train__recompute: Optional[Literal["auto", "always", "never"]] = None,
        train__coupled_decay: Optional[bool] = None,
        train__stop_when_flat: Optional[int] = None,
        train__precision: Optional[Literal["f32", "bf16", "auto"]] = None,
        train__quality: Optional[bool] = None,
        train__shards: Optional[int] = None,
        embed__smooth: Optional[int] = None,
        embed__channels: Optional[Literal["equal", "weighted"]] = None,
        embed__features: Optional[int] = None,
        embed__hops: Optional[Literal["all", "own", "mean", "twice"]] = None,
        objective__p_link__decoder: Optional[Literal["mlp", "dot"]] = None,
        objective__p_link__hidden: Optional[int] = None,
        objective__p_link__batch: Optional[int] = None,
        objective__p_link__sense_batch: Optional[int] = None,
        objective__p_link__mean: Optional[Literal["separate", "joint"]] = None,
        objective__p_link__mask: Optional[float] = None,
        objective__p_link__dropout: Optional[float] = None,
        objective__p_link__negatives: Optional[Literal["uniform", "degree"]] = None,
        objective__p_link__relation_weights: Optional[Literal["edges", "equal"]] = None,
        objective__p_recon__mask: Optional[float] = None,
        objective__p_recon__replace: Optional[float] = None,
        objective__p_recon__exponent: Optional[float] = None,
        objective__p_recon__drop_edges: Optional[float] = None,
        objective__p_recon__decoder: Optional[Literal["gcn", "gat", "linear"]] = None,
        objective__p_recon__remask: Optional[bool] = None,
        objective__p_recon__dropout: Optional[float] = None,
        objective__p_recon__attention_dropout: Optional[float] = None,
        objective__p_recon__init: Optional[Literal["uniform", "normal"]] = None,
        objective__p_recon__min_norm: Optional[float] = None,
        objective__p_recon__hidden: Optional[int] = None,
        objective__p_recon__type_weights: Optional[Literal["nodes", "equal"]] = None,
        objective__p_minsg__readout: Optional[Literal["walk-mean", "ego-mean", "node"]] = None,
        objective__p_minsg__hops: Optional[int] = None,
        objective__p_minsg__ego_nodes: Optional[int] = None,
        objective__p_minsg__similarity: Optional[Literal["cosine", "dot"]] = None,
        objective__p_minsg__head: Optional[Literal["mlp", "none"]] = None,
        objective__p_minsg__batch: Optional[int] = None,
        objective__p_minsg__temperature: Optional[float] = None,
        objective__p_minsg__symmetric: Optional[bool] = None,
        objective__p_minsg__intra_view: Optional[bool] = None,
        objective__p_minsg__drop_edges: Optional[float] = None,
        objective__p_minsg__mask_features: Optional[float] = None,
        objective__p_minsg__hidden: Optional[int] = None,
        objective__p_minsg__metapaths: Optional[str] = None,
        objective__p_decor__width: Optional[int] = None,
        objective__p_decor__head: Optional[Literal["mlp", "none"]] = None,
        objective__p_decor__lambda: Optional[float] = None,
        objective__p_decor__all_up_to: Optional[int] = None,
        objective__p_decor__batch: Optional[int] = None,
        objective__p_decor__drop_edges: Optional[float] = None,
        objective__p_decor__mask_features: Optional[float] = None,
        objective__p_decor__loss: Optional[Literal["barlow", "cca"]] = None,
        objective__p_decor__deviation: Optional[Literal["population", "sample"]] = None,
        objective__p_par__parts: Optional[int] = None,
        objective__p_par__imbalance: Optional[float] = None,
        objective__p_par__seed: Optional[int] = None,
        objective__grace__projector: Optional[int] = None,
        objective__grace__temperature: Optional[float] = None,
        objective__grace__batch: Optional[int] = None,
        objective__grace__drop_edges_1: Optional[float] = None,
        objective__grace__drop_edges_2: Optional[float] = None,
        objective__grace__mask_features_1: Optional[float] = None,
        objective__grace__mask_features_2: Optional[float] = None,
        objective__mvgrl__alpha: Optional[float] = None,
        objective__mvgrl__threshold: Optional[float] = None,
        objective__mvgrl__most_nodes: Optional[int] = None,
        objective__bgrl__predictor: Optional[int] = None,
        objective__bgrl__rate: Optional[float] = None,
        objective__bgrl__drop_edges_1: Optional[float] = None,
        objective__bgrl__drop_edges_2: Optional[float] = None,
        objective__bgrl__mask_features_1: Optional[float] = None,
        objective__bgrl__mask_features_2: Optional[float] = None,
        objective__graphmae__mask: Optional[float] = None,
        objective__graphmae__replace: Optional[float] = None,
        objective__graphmae__exponent: Optional[float] = None,
        objective__graphmae__drop_edges: Optional[float] = None,
        objective__graphmae__dropout: Optional[float] = None,
        objective__graphmae__attention_dropout: Optional[float] = None,
        objective__cca_ssg__lambda: Optional[float] = None,
        objective__cca_ssg__drop_edges: Optional[float] = None,
        objective__cca_ssg__mask_features: Optional[float] = None,
        objective__gca__centrality: Optional[Literal["degree", "pagerank"]] = None,
        objective__gca__limit: Optional[float] = None,
        objective__gca__projector: Optional[int] = None,
        objective__gca__temperature: Optional[float] = None,
        objective__gca__batch: Optional[int] = None,
        objective__gca__drop_edges_1: Optional[float] = None,
        objective__gca__drop_edges_2: Optional[float] = None,
        objective__gca__mask_features_1: Optional[float] = None,
        objective__gca__mask_features_2: Optional[float] = None,
        objective__x_noise__classes: Optional[int] = None,
        objective__x_noise__seed: Optional[int] = None,
        objective__x_shuffle__mask: Optional[float] = None,
        objective__x_shuffle__seed: Optional[int] = None,
        objective__x_memorize__hidden: Optional[int] = None,
        objective__x_memorize__batch: Optional[int] = None,
        objective__x_memorize__sense_batch: Optional[int] = None,
        sense__period: Optional[int] = None,
        sense__alpha: Optional[float] = None,
        sense__beta: Optional[float] = None,
        sense__rho: Optional[float] = None,
        sense__rho_loss: Optional[float] = None,
        sense__difficulty_min: Optional[float] = None,
        sense__difficulty_max: Optional[float] = None,
        sense__whole_up_to: Optional[int] = None,
        sense__probe_nodes: Optional[int] = None,
        sense__held_out: Optional[float] = None,
        sense__relation_weights: Optional[Literal["edges", "equal"]] = None,
        plan__mode: Optional[Literal["log-hypervolume", "gain", "uniform"]] = None,
        plan__gamma: Optional[float] = None,
        plan__floor: Optional[float] = None,
        plan__delta: Optional[float] = None,
        plan__weights: Optional[Literal["equal", "log-hypervolume"]] = None,
        plan__temperature: Optional[float] = None,
        plan__rho: Optional[float] = None,
        plan__trust: Optional[bool] = None,
        control__mode: Optional[Literal["pid", "max-deficit", "draw"]] = None,
        control__kp: Optional[Union[float, Sequence[float]]] = None,
        control__ki: Optional[Union[float, Sequence[float]]] = None,
        control__kd: Optional[Union[float, Sequence[float]]] = None,
        control__explore: Optional[float] = None,
        control__temperature: Optional[float] = None,
        control__integral_limit: Optional[float] = None,
        control__integral: Optional[Literal["paper", "centered"]] = None,
        mix__uniform__init_normalized: Optional[bool] = None,
        mix__pcgrad__reduction: Optional[Literal["sum", "mean"]] = None,
        mix__cagrad__c: Optional[float] = None,
        mix__cagrad__max_iter: Optional[int] = None,
        mix__mgda__normalize: Optional[Literal["l2", "loss", "loss+", "none"]] = None,
        mix__paretognn__normalize: Optional[Literal["l2", "loss", "loss+", "none"]] = None,
        mix__paretognn__use_pareto: Optional[bool] = None,
        mix__autossl__lr_lambda: Optional[float] = None,
        mix__autossl__meta_every: Optional[int] = None,
        mix__autossl__meta_warmup_steps: Optional[int] = None,
        mix__autossl__clusters: Optional[int] = None,
        mix__autossl__starts: Optional[int] = None,
        mix__autossl__variance: Optional[float] = None,
        mix__autossl__relative_variance: Optional[float] = None,
        mix__autossl_es__generations: Optional[int] = None,
        mix__autossl_es__population: Optional[int] = None,
        mix__autossl_es__steps: Optional[int] = None,
        mix__autossl_es__clusters: Optional[int] = None,
        mix__was__ema_beta: Optional[float] = None,
        mix__was__select_temperature: Optional[float] = None,
        mix__was__select_l1: Optional[float] = None,
        mix__gradnorm__alpha: Optional[float] = None,
        mix__gradnorm__lr: Optional[float] = None,
        mix__uncertainty__init: Optional[float] = None,
        mix__nash_mtl__every: Optional[int] = None,
        mix__nash_mtl__clip: Optional[float] = None,
        mix__dtp__average: Optional[float] = None,
        mix__dtp__gamma: Optional[float] = None,
    ) -> None:
        """Takes every setting of the run file, with two underscores in place of a dot.

        A parameter left at None takes the value of the preset of the data set or the method, if there is one,
        and else the default named here. Each value is checked here, whether they fit together in fit. The names
        of the run file are accepted too: seed for random_state, train__epochs for epochs.

        method : training method; `controlg list methods` lists them (default "controlg").
        objectives : objectives to train; `controlg list objectives` lists them (default ["p_link", "p_recon",
            "p_minsg", "p_decor", "p_par"]).
        epochs : number of epochs; the scheduler's counts and integrals are reset in each, short for
            train.epochs (1 to 1000000; default 20).
        width : embedding width, short for encoder.width (1 to 65536; default 512).
        random_state : random seed; the same seed gives the same bytes at any n_jobs (a whole number from 0;
            default 0).
        n_jobs : number of threads; None or -1 for all cores.
        verbose : show notes on the graph and a progress bar (by tqdm, if it is installed).
        callbacks : functions called as callback(steps_done, total_steps, line) for every line of the record, a
            dictionary; one that returns True or raises controlg.StopTraining ends the training after this
            block. Any other exception ends it and leaves the estimator unchanged.
        callback : one more such function.
        data : the data set whose preset is used, for a graph that is passed as arrays.
        auto : choose encoder, regularization and objectives by short runs, without labels, before the training,
            as `controlg pretrain --auto` does; callbacks see the training only.
        data_dir : folder in which data sets are looked up by name.
        features : features from the data, or structural features computed from the edges (given, structural;
            default "given").
        normalize : feature normalization: divide rows by their sum, standardize columns, none, or what fits the
            features (auto, rows, columns, none; default "auto").
        edges : edges to train on: all, or the training edges of the edges-70-10-20 split for link prediction
            (all, train; default "all").
        directed : whether edges within a node type keep their direction, as two relations (true or false;
            default false).
        preset : where settings that are not given come from (tuned, paper; default "tuned").
        encoder__kind : encoder; see `controlg list encoders` (default "gcn").
        encoder__layers : number of layers (1 to 16; default 2).
        encoder__hidden : width of the layers before the last, with jump = concat of all layers; 0 for equal
            widths (0 to 65536; default 0).
        encoder__norm : normalization after each layer's product (batch, layer, none; default "batch").
        encoder__activation : activation after the norm (prelu, relu, elu, identity; default "prelu").
        encoder__last : whether the last layer ends with norm and activation, or is linear (activation, linear;
            default "activation").
        encoder__dropout : dropout rate on the inputs of all layers but the first (at least 0 and below 1;
            default 0.0).
        encoder__feature_dropout : dropout rate on the entries of the features (at least 0 and below 1; default
            0.0).
        encoder__jump : embedding: the last layer, or a projection of the features and all layers side by side
            (last, concat; default "last").
        encoder__operator : weights of neighbors: 1/√(dᵤ·dᵥ), or the mean; the default of sage is mean
            (symmetric, mean; default "symmetric").
        encoder__self_loops : whether a node is its own neighbor; the default of sage is false (true or false;
            default true).
        encoder__heads : attention heads, concatenated; must divide the widths (1 to 1024; default 4).
        encoder__negative_slope : slope of the leaky ReLU on the scores (a number from 0 to 1; default 0.2).
        encoder__attention_dropout : dropout rate on the attention weights (at least 0 and below 1; default
            0.0).
        encoder__init : weight initialization: Xavier uniform, or Xavier normal with a gain of √2 as in the
            authors' code (uniform, normal; default "uniform").
        encoder__bases : matrices that the weights of all relations combine; 0: own weights (0 to 1024; default
            0).
        train__batches_per_epoch : training steps per epoch (1 to 1000000; default 50).
        train__block : training steps per block; a block trains one objective (1 to 1000000; default 1).
        train__lr : learning rate (a number from 0 to 10; default 0.001).
        train__schedule : learning-rate schedule (constant, cosine; default "constant").
        train__warmup_steps : steps of linear learning-rate warmup (0 to 1000000000; default 0).
        train__weight_decay : weight decay (a number from 0 to 10; default 0.00001).
        train__clip : gradient-norm clipping threshold; 0 disables clipping (a number from 0 to 1000000000;
            default 0.0).
        train__warmup_rounds : warm-up rounds of one step per objective before the first plan (1 to 10000;
            default 5).
        train__per_task_moments : separate optimizer state of the encoder for each objective (true or false;
            default false).
        train__batch : full graph, METIS clusters, or sampled neighborhoods; auto: full up to 262144 nodes
            (auto, full, cluster, neighbor; default "auto").
        train__batch_nodes : nodes per mini-batch (64 to 1073741824; default 8192).
        train__fanout : neighbors sampled per node with batch = neighbor (1 to 10000; default 8).
        train__recompute : gradient checkpointing, which saves memory; auto: if activations take more than 512
            MB (auto, always, never; default "auto").
        train__coupled_decay : add weight decay to the gradient (Adam) instead of decoupling it (AdamW) (true or
            false; default false).
        train__stop_when_flat : epochs without a lower held-out loss of any objective after which the run stops;
            0: never (0 to 1000000; default 0).
        train__precision : factors of dense products in training steps; sums and all else are f32; auto: f32
            (f32, bf16, auto; default "f32").
        train__quality : measure the embeddings without labels after every epoch; changes the record only (true
            or false; default true).
        train__shards : mini-batches per step, whose gradients are averaged; several processes share them out (1
            to 65536; default 1).
        embed__smooth : embeddings are Z + Âⁿ·Z with this n, over the edges that training saw; 0 for Z (0 to 16;
            default 0).
        embed__channels : channels as they are, or weighted by how much of the features' signal their hop keeps
            (equal, weighted; default "equal").
        embed__features : columns of features, neighbors' mean and two-hop smoothing beside the representations;
            0: none (0 to 65536; default 0).
        embed__hops : which of these channels: the features, neighbors' mean, two-hop smoothing, or all (all,
            own, mean, twice; default "all").
        objective__p_link__decoder : score of a pair: an MLP or the dot product (mlp, dot; default "mlp").
        objective__p_link__hidden : hidden width of the MLP (1 to 65536; default 256).
        objective__p_link__batch : edges per step, with as many non-edges (1 to 1073741824; default 8192).
        objective__p_link__sense_batch : edges per sensing (1 to 1073741824; default 50000).
        objective__p_link__mean : average positives and negatives separately or jointly (separate, joint;
            default "separate").
        objective__p_link__mask : fraction of edges hidden from the encoder, which are the positives; 0: it sees
            all edges (at least 0 and below 1; default 0.7).
        objective__p_link__dropout : dropout rate on the hidden layer of the MLP (at least 0 and below 1;
            default 0.0).
        objective__p_link__negatives : non-edges drawn uniformly, or with nodes in proportion to their degrees
            (uniform, degree; default "uniform").
        objective__p_link__relation_weights : weights of the losses of relations: the number of edges, or equal
            (edges, equal; default "edges").
        objective__p_recon__mask : fraction of nodes whose features are masked (at least 0.000001 and below 1;
            default 0.5).
        objective__p_recon__replace : fraction of masked nodes that get another node's features instead of the
            token (at least 0 and below 1; default 0.0).
        objective__p_recon__exponent : exponent of the scaled cosine error (a number from 1 to 10; default 3.0).
        objective__p_recon__drop_edges : fraction of edges dropped, for encoder and decoder (at least 0 and
            below 1; default 0.0).
        objective__p_recon__decoder : decoder: a graph convolution, graph attention as in graphmae, or the
            node's own code (gcn, gat, linear; default "gcn").
        objective__p_recon__remask : zero the codes of masked nodes before a decoder that reads neighbors (true
            or false; default true).
        objective__p_recon__dropout : dropout on the decoder's inputs (at least 0 and below 1; default 0.0).
        objective__p_recon__attention_dropout : dropout on the decoder's attention weights (at least 0 and below
            1; default 0.0).
        objective__p_recon__init : initialization of the decoder: Xavier uniform, or as in graphmae (uniform,
            normal; default "uniform").
        objective__p_recon__min_norm : smallest norm that the cosine divides by, 1e-12 in graphmae; with 0, rows
            of zeros have no gradient (a number from 0 to 1; default 0.0).
        objective__p_recon__hidden : width of the decoder's codes; 0 for the embedding width (0 to 65536;
            default 0).
        objective__p_recon__type_weights : weights of the losses of node types: the number of masked nodes, or
            equal (nodes, equal; default "nodes").
        objective__p_minsg__readout : context of a node: mean along walks, mean over the exact k-hop
            neighborhood, or the node itself (walk-mean, ego-mean, node; default "walk-mean").
        objective__p_minsg__hops : number of hops of the context (1 to 10; default 3).
        objective__p_minsg__ego_nodes : maximum number of nodes per neighborhood, sampled; 0 for no limit (0 to
            1048576; default 0).
        objective__p_minsg__similarity : similarity of two rows (cosine, dot; default "cosine").
        objective__p_minsg__head : projection head: a two-layer MLP or none (mlp, none; default "mlp").
        objective__p_minsg__batch : nodes per step and per sensing (2 to 1048576; default 2048).
        objective__p_minsg__temperature : softmax temperature of the similarities (a number from 0.001 to 100;
            default 0.2).
        objective__p_minsg__symmetric : also match contexts with their nodes (true or false; default false).
        objective__p_minsg__intra_view : also use nodes of the same view as negatives (true or false; default
            false).
        objective__p_minsg__drop_edges : fraction of edges dropped in each view (at least 0 and below 1; default
            0.3).
        objective__p_minsg__mask_features : fraction of feature columns masked in each view (at least 0 and
            below 1; default 0.3).
        objective__p_minsg__hidden : width of the projection head; 0 for the embedding width (0 to 65536;
            default 0).
        objective__p_minsg__metapaths : meta-paths of the context such as "paper-author-paper,paper-paper",
            instead of the readout; "": walks over all relations.
        objective__p_decor__width : output width of the projection head (1 to 65536; default 256).
        objective__p_decor__head : projection head: a two-layer MLP or none (mlp, none; default "mlp").
        objective__p_decor__lambda : weight of the off-diagonal correlations, or of the decorrelation within
            views (cca) (a number from 0 to 1000000; default 0.01).
        objective__p_decor__all_up_to : number of nodes up to which all nodes are used (0 to 1099511627776;
            default 20000).
        objective__p_decor__batch : nodes sampled per step on larger graphs (2 to 1073741824; default 10000).
        objective__p_decor__drop_edges : fraction of edges dropped in each view (at least 0 and below 1; default
            0.3).
        objective__p_decor__mask_features : fraction of feature columns masked in each view (at least 0 and
            below 1; default 0.3).
        objective__p_decor__loss : loss of Barlow Twins or of CCA-SSG (barlow, cca; default "barlow").
        objective__p_decor__deviation : standard deviation of the columns: with 1/n, or with 1/(n - 1) as in
            CCA-SSG (population, sample; default "population").
        objective__p_par__parts : number of clusters, at most one per ten nodes (2 to 1048576; default 20).
        objective__p_par__imbalance : maximum cluster size relative to the mean (a number from 1.001 to 2;
            default 1.03).
        objective__p_par__seed : random seed of METIS, independent of the run's seed (0 to 2147483647; default
            0).
        objective__grace__projector : hidden width of the projection head (1 to 65536; default 128).
        objective__grace__temperature : softmax temperature of the similarities (a number from 0.001 to 100;
            default 0.4).
        objective__grace__batch : maximum number of nodes contrasted per step (2 to 1048576; default 4096).
        objective__grace__drop_edges_1 : fraction of edges dropped in the first view (at least 0 and below 1;
            default 0.2).
        objective__grace__drop_edges_2 : fraction of edges dropped in the second view (at least 0 and below 1;
            default 0.4).
        objective__grace__mask_features_1 : fraction of feature columns masked in the first view (at least 0 and
            below 1; default 0.3).
        objective__grace__mask_features_2 : fraction of feature columns masked in the second view (at least 0
            and below 1; default 0.4).
        objective__mvgrl__alpha : restart probability of the diffusion (personalized PageRank) (a number from
            0.01 to 0.99; default 0.2).
        objective__mvgrl__threshold : drop entries of the diffusion up to this value; 0 keeps all (a number from
            0 to 1; default 0.001).
        objective__mvgrl__most_nodes : maximum number of nodes; the diffusion is nodes × nodes (1 to 16777216;
            default 20000).
        objective__bgrl__predictor : hidden width of the predictor (1 to 65536; default 512).
        objective__bgrl__rate : initial EMA update rate of the target network (a number from 0 to 1; default
            0.01).
        objective__bgrl__drop_edges_1 : fraction of edges dropped in the first view (at least 0 and below 1;
            default 0.2).
        objective__bgrl__drop_edges_2 : fraction of edges dropped in the second view (at least 0 and below 1;
            default 0.3).
        objective__bgrl__mask_features_1 : fraction of feature columns masked in the first view (at least 0 and
            below 1; default 0.2).
        objective__bgrl__mask_features_2 : fraction of feature columns masked in the second view (at least 0 and
            below 1; default 0.1).
        objective__graphmae__mask : fraction of nodes whose features are masked (at least 0.000001 and below 1;
            default 0.5).
        objective__graphmae__replace : fraction of masked nodes that get another node's features instead of the
            token (at least 0 and below 1; default 0.05).
        objective__graphmae__exponent : exponent of the scaled cosine error (a number from 1 to 10; default
            3.0).
        objective__graphmae__drop_edges : fraction of edges dropped, for encoder and decoder (at least 0 and
            below 1; default 0.0).
        objective__graphmae__dropout : dropout on the decoder's inputs (at least 0 and below 1; default 0.2).
        objective__graphmae__attention_dropout : dropout on the decoder's attention weights (at least 0 and
            below 1; default 0.1).
        objective__cca_ssg__lambda : weight of the within-view decorrelation (a number from 0 to 1000000;
            default 0.001).
        objective__cca_ssg__drop_edges : fraction of edges dropped in each view (at least 0 and below 1; default
            0.2).
        objective__cca_ssg__mask_features : fraction of feature columns masked in each view (at least 0 and
            below 1; default 0.2).
        objective__gca__centrality : node centrality measure (degree, pagerank; default "degree").
        objective__gca__limit : maximum drop probability (a number from 0 to 1; default 0.7).
        objective__gca__projector : hidden width of the projection head (1 to 65536; default 256).
        objective__gca__temperature : softmax temperature of the similarities (a number from 0.001 to 100;
            default 0.4).
        objective__gca__batch : maximum number of nodes contrasted per step (2 to 1048576; default 4096).
        objective__gca__drop_edges_1 : mean probability of dropping an edge in the first view (at least 0 and
            below 1; default 0.2).
        objective__gca__drop_edges_2 : mean probability of dropping an edge in the second view (at least 0 and
            below 1; default 0.3).
        objective__gca__mask_features_1 : mean probability of masking a column in the first view (at least 0 and
            below 1; default 0.1).
        objective__gca__mask_features_2 : mean probability of masking a column in the second view (at least 0
            and below 1; default 0.1).
        objective__x_noise__classes : number of classes (2 to 1048576; default 10).
        objective__x_noise__seed : random seed of the classes, independent of the run's seed (0 to 2147483647;
            default 0).
        objective__x_shuffle__mask : fraction of nodes whose features are masked (at least 0.000001 and below 1;
            default 0.5).
        objective__x_shuffle__seed : random seed of the permutation, independent of the run's seed (0 to
            2147483647; default 0).
        objective__x_memorize__hidden : hidden width of the MLP (1 to 65536; default 256).
        objective__x_memorize__batch : edges per step, with as many non-edges (1 to 1073741824; default 8192).
        objective__x_memorize__sense_batch : edges per sensing (1 to 1073741824; default 50000).
        sense__period : blocks between sensings (1 to 1000000; default 10).
        sense__alpha : weight of the Rayleigh quotient in the difficulty (a number from 0 to 1000000; default
            1.0).
        sense__beta : weight of gradient conflict in the difficulty (a number from 0 to 1000000; default 0.25).
        sense__rho : EMA coefficient of new values in the difficulty (a number from 0 to 1; default 0.3).
        sense__rho_loss : EMA coefficient of new values in the normalized loss (a number from 0 to 1; default
            0.3).
        sense__difficulty_min : lower bound of the difficulty (a number from 0 to 1000000; default 0.0).
        sense__difficulty_max : upper bound of the difficulty (a number from 0 to 1000000; default 3.0).
        sense__whole_up_to : number of nodes up to which the whole graph is sensed (0 to 1099511627776; default
            50000).
        sense__probe_nodes : nodes of the fixed subgraph that is sensed for larger graphs (2 to 1099511627776;
            default 20000).
        sense__held_out : share of each objective's samples that is held out to measure losses; 0: none (a
            number from 0 to 0.5; default 0.0).
        sense__relation_weights : weights of relations in the Rayleigh quotient: their shares of the edges, or
            equal (edges, equal; default "edges").
        plan__mode : shares from the log-hypervolume's sensitivity damped by difficulty, from expected gains on
            held-out losses, or equal shares (log-hypervolume, gain, uniform; default "log-hypervolume").
        plan__gamma : how strongly difficulty lowers an objective's share (a number from 0 to 1000000; default
            1.0).
        plan__floor : minimum share of an objective; must be below 1/K (at least 0 and below 1; default 0.1).
        plan__delta : minimum distance between the reference point and the loss (a number from 0.000000001 to
            1000000; default 0.1).
        plan__weights : mode = gain: what the fall of each loss counts (equal, log-hypervolume; default
            "equal").
        plan__temperature : mode = gain: temperature of the shares (a number from 0.01 to 100; default 1.0).
        plan__rho : mode = gain: EMA coefficient of new gains (a number from 0.000001 to 1; default 0.3).
        plan__trust : mode = gain: whether each held-out loss counts by how far its expected falls have come
            true (true or false; default false).
        control__mode : sample from PID logits, take the largest deficit, or sample from the plan independently
            (pid, max-deficit, draw; default "pid").
        control__kp : proportional gain: weight of the deficit (a number from 0 to 1000000, or a list with one
            per objective; default 0.5).
        control__ki : integral gain: weight of the accumulated deficit (a number from 0 to 1000000, or a list
            with one per objective; default 0.1).
        control__kd : derivative gain: weight of the change in the deficit (a number from 0 to 1000000, or a
            list with one per objective; default 0.1).
        control__explore : share of the probability spread uniformly over all objectives (a number from 0 to 1;
            default 0.05).
        control__temperature : softmax temperature (a number from 0.000001 to 1000000; default 1.0).
        control__integral_limit : bound on the absolute value of the integral (anti-windup) (a number from 0 to
            1000000000; default 10.0).
        control__integral : what the integral accumulates: deficits, or deficits without their mean 1/K (paper,
            centered; default "paper").
        mix__uniform__init_normalized : divide each loss by its value at the first step (true or false; default
            false).
        mix__pcgrad__reduction : sum or average the projected gradients (sum, mean; default "sum").
        mix__cagrad__c : maximum distance from the mean gradient, relative to its norm (a number from 0 to
            1000000; default 0.4).
        mix__cagrad__max_iter : iterations of the solver (1 to 10000; default 50).
        mix__mgda__normalize : divisor of each gradient when computing the weights: its norm, its loss, both, or
            none (l2, loss, loss+, none; default "none").
        mix__paretognn__normalize : divisor of each gradient when computing the weights: its norm, its loss,
            both, or none (l2, loss, loss+, none; default "l2").
        mix__paretognn__use_pareto : compute weights from the gradients; if false, sum the losses (true or
            false; default true).
        mix__autossl__lr_lambda : learning rate of the weights (a number from 0 to 10; default 0.05).
        mix__autossl__meta_every : steps between updates of the weights (1 to 1000000; default 10).
        mix__autossl__meta_warmup_steps : steps before the first update of the weights (0 to 1000000000; default
            0).
        mix__autossl__clusters : number of embedding clusters; at most the number of nodes (2 to 10000; default
            5).
        mix__autossl__starts : restarts of K-means, of which the best is used (1 to 100; default 10).
        mix__autossl__variance : σ² in softmax(−distance²/σ²) if relative_variance is 0; giving only this sets
            relative_variance to 0 (a number from 0.000000001 to 1000000000; default 0.001).
        mix__autossl__relative_variance : σ² relative to the median squared distance of nodes to their centers;
            0 uses variance (a number from 0 to 1000000000; default 0.1).
        mix__autossl_es__generations : generations of the evolutionary search (1 to 100000; default 4).
        mix__autossl_es__population : candidates per generation (2 to 10000; default 8).
        mix__autossl_es__steps : training steps per candidate (1 to 1000000; default 20).
        mix__autossl_es__clusters : number of embedding clusters; at most the number of nodes (2 to 10000;
            default 5).
        mix__was__ema_beta : EMA decay of the target parameters (a number from 0 to 1; default 0.9).
        mix__was__select_temperature : temperature of the relaxed selection (a number from 0.001 to 1000;
            default 1.0).
        mix__was__select_l1 : L1 penalty on the selection probabilities (a number from 0 to 1000000; default
            0.001).
        mix__gradnorm__alpha : how strongly a lagging loss raises its weight (a number from 0 to 100; default
            1.5).
        mix__gradnorm__lr : learning rate of the weights (a number from 0 to 10; default 0.025).
        mix__uncertainty__init : initial log-variance (a number from -20 to 20; default 0.0).
        mix__nash_mtl__every : steps between solves; weights are reused in between (1 to 1000000; default 1).
        mix__nash_mtl__clip : maximum norm of the update direction; 0 disables clipping (a number from 0 to
            1000000000; default 1.0).
        mix__dtp__average : EMA coefficient of new values in the progress (a number from 0.000001 to 1; default
            0.1).
        mix__dtp__gamma : how strongly progress lowers a weight (a number from 0 to 100; default 1.0).
        """
        self.method = method
        self.objectives = objectives
        self.epochs = epochs
        self.width = width
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.callback = callback
        self.data = data
        self.auto = auto
        self.data_dir = data_dir
        self.features = features
        self.normalize = normalize
        self.edges = edges
        self.directed = directed
        self.preset = preset
        self.encoder__kind = encoder__kind
        self.encoder__layers = encoder__layers
        self.encoder__hidden = encoder__hidden
        self.encoder__norm = encoder__norm
        self.encoder__activation = encoder__activation
        self.encoder__last = encoder__last
        self.encoder__dropout = encoder__dropout
        self.encoder__feature_dropout = encoder__feature_dropout
        self.encoder__jump = encoder__jump
        self.encoder__operator = encoder__operator
        self.encoder__self_loops = encoder__self_loops
        self.encoder__heads = encoder__heads
        self.encoder__negative_slope = encoder__negative_slope
        self.encoder__attention_dropout = encoder__attention_dropout
        self.encoder__init = encoder__init
        self.encoder__bases = encoder__bases
        self.train__batches_per_epoch = train__batches_per_epoch
        self.train__block = train__block
        self.train__lr = train__lr
        self.train__schedule = train__schedule
        self.train__warmup_steps = train__warmup_steps
        self.train__weight_decay = train__weight_decay
        self.train__clip = train__clip
        self.train__warmup_rounds = train__warmup_rounds
        self.train__per_task_moments = train__per_task_moments
        self.train__batch = train__batch
        self.train__batch_nodes = train__batch_nodes
        self.train__fanout = train__fanout
        self.train__recompute = train__recompute
        self.train__coupled_decay = train__coupled_decay
        self.train__stop_when_flat = train__stop_when_flat
        self.train__precision = train__precision
        self.train__quality = train__quality
        self.train__shards = train__shards
        self.embed__smooth = embed__smooth
        self.embed__channels = embed__channels
        self.embed__features = embed__features
        self.embed__hops = embed__hops
        self.objective__p_link__decoder = objective__p_link__decoder
        self.objective__p_link__hidden = objective__p_link__hidden
        self.objective__p_link__batch = objective__p_link__batch
        self.objective__p_link__sense_batch = objective__p_link__sense_batch
        self.objective__p_link__mean = objective__p_link__mean
        self.objective__p_link__mask = objective__p_link__mask
        self.objective__p_link__dropout = objective__p_link__dropout
        self.objective__p_link__negatives = objective__p_link__negatives
        self.objective__p_link__relation_weights = objective__p_link__relation_weights
        self.objective__p_recon__mask = objective__p_recon__mask
        self.objective__p_recon__replace = objective__p_recon__replace
        self.objective__p_recon__exponent = objective__p_recon__exponent
        self.objective__p_recon__drop_edges = objective__p_recon__drop_edges
        self.objective__p_recon__decoder = objective__p_recon__decoder
        self.objective__p_recon__remask = objective__p_recon__remask
        self.objective__p_recon__dropout = objective__p_recon__dropout
        self.objective__p_recon__attention_dropout = objective__p_recon__attention_dropout
        self.objective__p_recon__init = objective__p_recon__init
        self.objective__p_recon__min_norm = objective__p_recon__min_norm
        self.objective__p_recon__hidden = objective__p_recon__hidden
        self.objective__p_recon__type_weights = objective__p_recon__type_weights
        self.objective__p_minsg__readout = objective__p_minsg__readout
        self.objective__p_minsg__hops = objective__p_minsg__hops
        self.objective__p_minsg__ego_nodes = objective__p_minsg__ego_nodes
        self.objective__p_minsg__similarity = objective__p_minsg__similarity
        self.objective__p_minsg__head = objective__p_minsg__head
        self.objective__p_minsg__batch = objective__p_minsg__batch
        self.objective__p_minsg__temperature = objective__p_minsg__temperature
        self.objective__p_minsg__symmetric = objective__p_minsg__symmetric
        self.objective__p_minsg__intra_view = objective__p_minsg__intra_view
        self.objective__p_minsg__drop_edges = objective__p_minsg__drop_edges
        self.objective__p_minsg__mask_features = objective__p_minsg__mask_features
        self.objective__p_minsg__hidden = objective__p_minsg__hidden
        self.objective__p_minsg__metapaths = objective__p_minsg__metapaths
        self.objective__p_decor__width = objective__p_decor__width
        self.objective__p_decor__head = objective__p_decor__head
        self.objective__p_decor__lambda = objective__p_decor__lambda
        self.objective__p_decor__all_up_to = objective__p_decor__all_up_to
        self.objective__p_decor__batch = objective__p_decor__batch
        self.objective__p_decor__drop_edges = objective__p_decor__drop_edges
        self.objective__p_decor__mask_features = objective__p_decor__mask_features
        self.objective__p_decor__loss = objective__p_decor__loss
        self.objective__p_decor__deviation = objective__p_decor__deviation
        self.objective__p_par__parts = objective__p_par__parts
        self.objective__p_par__imbalance = objective__p_par__imbalance
        self.objective__p_par__seed = objective__p_par__seed
        self.objective__grace__projector = objective__grace__projector
        self.objective__grace__temperature = objective__grace__temperature
        self.objective__grace__batch = objective__grace__batch
        self.objective__grace__drop_edges_1 = objective__grace__drop_edges_1
        self.objective__grace__drop_edges_2 = objective__grace__drop_edges_2
        self.objective__grace__mask_features_1 = objective__grace__mask_features_1
        self.objective__grace__mask_features_2 = objective__grace__mask_features_2
        self.objective__mvgrl__alpha = objective__mvgrl__alpha
        self.objective__mvgrl__threshold = objective__mvgrl__threshold
        self.objective__mvgrl__most_nodes = objective__mvgrl__most_nodes
        self.objective__bgrl__predictor = objective__bgrl__predictor
        self.objective__bgrl__rate = objective__bgrl__rate
        self.objective__bgrl__drop_edges_1 = objective__bgrl__drop_edges_1
        self.objective__bgrl__drop_edges_2 = objective__bgrl__drop_edges_2
        self.objective__bgrl__mask_features_1 = objective__bgrl__mask_features_1
        self.objective__bgrl__mask_features_2 = objective__bgrl__mask_features_2
        self.objective__graphmae__mask = objective__graphmae__mask
        self.objective__graphmae__replace = objective__graphmae__replace
        self.objective__graphmae__exponent = objective__graphmae__exponent
        self.objective__graphmae__drop_edges = objective__graphmae__drop_edges
        self.objective__graphmae__dropout = objective__graphmae__dropout
        self.objective__graphmae__attention_dropout = objective__graphmae__attention_dropout
        self.objective__cca_ssg__lambda = objective__cca_ssg__lambda
        self.objective__cca_ssg__drop_edges = objective__cca_ssg__drop_edges
        self.objective__cca_ssg__mask_features = objective__cca_ssg__mask_features
        self.objective__gca__centrality = objective__gca__centrality
        self.objective__gca__limit = objective__gca__limit
        self.objective__gca__projector = objective__gca__projector
        self.objective__gca__temperature = objective__gca__temperature
        self.objective__gca__batch = objective__gca__batch
        self.objective__gca__drop_edges_1 = objective__gca__drop_edges_1
        self.objective__gca__drop_edges_2 = objective__gca__drop_edges_2
        self.objective__gca__mask_features_1 = objective__gca__mask_features_1
        self.objective__gca__mask_features_2 = objective__gca__mask_features_2
        self.objective__x_noise__classes = objective__x_noise__classes
        self.objective__x_noise__seed = objective__x_noise__seed
        self.objective__x_shuffle__mask = objective__x_shuffle__mask
        self.objective__x_shuffle__seed = objective__x_shuffle__seed
        self.objective__x_memorize__hidden = objective__x_memorize__hidden
        self.objective__x_memorize__batch = objective__x_memorize__batch
        self.objective__x_memorize__sense_batch = objective__x_memorize__sense_batch
        self.sense__period = sense__period
        self.sense__alpha = sense__alpha
        self.sense__beta = sense__beta
        self.sense__rho = sense__rho
        self.sense__rho_loss = sense__rho_loss
        self.sense__difficulty_min = sense__difficulty_min
        self.sense__difficulty_max = sense__difficulty_max
        self.sense__whole_up_to = sense__whole_up_to
        self.sense__probe_nodes = sense__probe_nodes
        self.sense__held_out = sense__held_out
        self.sense__relation_weights = sense__relation_weights
        self.plan__mode = plan__mode
        self.plan__gamma = plan__gamma
        self.plan__floor = plan__floor
        self.plan__delta = plan__delta
        self.plan__weights = plan__weights
        self.plan__temperature = plan__temperature
        self.plan__rho = plan__rho
        self.plan__trust = plan__trust
        self.control__mode = control__mode
        self.control__kp = control__kp
        self.control__ki = control__ki
        self.control__kd = control__kd
        self.control__explore = control__explore
        self.control__temperature = control__temperature
        self.control__integral_limit = control__integral_limit
        self.control__integral = control__integral
        self.mix__uniform__init_normalized = mix__uniform__init_normalized
        self.mix__pcgrad__reduction = mix__pcgrad__reduction
        self.mix__cagrad__c = mix__cagrad__c
        self.mix__cagrad__max_iter = mix__cagrad__max_iter
        self.mix__mgda__normalize = mix__mgda__normalize
        self.mix__paretognn__normalize = mix__paretognn__normalize
        self.mix__paretognn__use_pareto = mix__paretognn__use_pareto
        self.mix__autossl__lr_lambda = mix__autossl__lr_lambda
        self.mix__autossl__meta_every = mix__autossl__meta_every
        self.mix__autossl__meta_warmup_steps = mix__autossl__meta_warmup_steps
        self.mix__autossl__clusters = mix__autossl__clusters
        self.mix__autossl__starts = mix__autossl__starts
        self.mix__autossl__variance = mix__autossl__variance
        self.mix__autossl__relative_variance = mix__autossl__relative_variance
        self.mix__autossl_es__generations = mix__autossl_es__generations
        self.mix__autossl_es__population = mix__autossl_es__population
        self.mix__autossl_es__steps = mix__autossl_es__steps
        self.mix__autossl_es__clusters = mix__autossl_es__clusters
        self.mix__was__ema_beta = mix__was__ema_beta
        self.mix__was__select_temperature = mix__was__select_temperature
        self.mix__was__select_l1 = mix__was__select_l1
        self.mix__gradnorm__alpha = mix__gradnorm__alpha
        self.mix__gradnorm__lr = mix__gradnorm__lr
        self.mix__uncertainty__init = mix__uncertainty__init
        self.mix__nash_mtl__every = mix__nash_mtl__every
        self.mix__nash_mtl__clip = mix__nash_mtl__clip
        self.mix__dtp__average = mix__dtp__average
        self.mix__dtp__gamma = mix__dtp__gamma
