//! Blocks against the whole graph.

use super::*;
use crate::encoder::{build, embed, embed_with, statistics};
use crate::graph::{Dense, EncoderInput};
use crate::rng::Stream;

/// Compares both ways to compute representations, with own and with given batch norm statistics.
fn compare(graph: &Graph, table: &str) {
    let encoder = build(table.parse().unwrap()).unwrap();
    let mut params = Params::new();
    let group = params.add_group("encoder");
    encoder.init(graph.n_features(), &mut params, group, &mut Stream::new(1, "init", "", 0));
    let (prepared, pool) = (EncoderInput::with_spec(graph, encoder.operator()), Pool::new());
    let whole = embed(&*encoder, &params, group, &prepared, &pool);
    let stats = statistics(&*encoder, &params, group, &prepared, &pool);
    assert_eq!(embed_with(&*encoder, &params, group, &prepared, &stats, &pool), whole);
    let folder = tempfile::tempdir().unwrap();
    let network = Network { encoder: &*encoder, params: &params, group };
    for given in [None, Some(&stats[..])] {
        let walk = BlockWalk {
            ranks: Ranks::alone(),
            network,
            graph,
            stats: given,
            folder: folder.path(),
            pool: Pool::new(),
            block_rows: 1200,
        };
        assert!(walk.blocks(0).len() > 2);
        let mut rows = Vec::new();
        let found = walk.embed(&mut |block| {
            rows.extend_from_slice(block);
            Ok(())
        });
        assert_eq!(found.unwrap(), stats, "{table}");
        assert!(rows == whole.data(), "{table}, statistics given: {}", given.is_some());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn blocks_reproduce_the_bytes_of_the_whole_graph() {
    let load = |name: &str| crate::data::load(name, &Default::default()).unwrap().graph;
    let sparse = load("synthetic:nodes=5000,features=700");
    let data = (0..5000).flat_map(|node| {
        let mut stream = Stream::new(3, "test", "", node);
        (0..600).map(move |_| stream.normal() as Real)
    });
    let dense =
        sparse.clone().with_features(Features::Dense(Dense::from_parts(5000, 600, data.collect()))).unwrap();
    for graph in [&sparse, &dense] {
        for kind in ["gcn", "sage", "gat"] {
            for rest in [
                "width = 64\nlayers = 3",
                "width = 48\nhidden = 20\nlayers = 2\nnorm = 'layer'\nactivation = 'elu'",
                "width = 24\nhidden = 96\nlayers = 2\nlast = 'linear'",
                "width = 32\nlayers = 1\nnorm = 'none'",
                "width = 150\nhidden = 48\nlayers = 2\njump = 'concat'",
                "width = 64\nlayers = 1\nnorm = 'none'\nactivation = 'relu'\njump = 'concat'",
            ] {
                compare(graph, &format!("kind = '{kind}'\n{rest}"));
            }
        }
        compare(graph, "operator = 'mean'\nself_loops = false\nwidth = 96\njump = 'concat'");
    }
}
