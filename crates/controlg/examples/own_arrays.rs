//! Embeds a graph from arrays in memory, saves the model, and embeds a larger graph with it.
//!
//! ```sh
//! cargo run --release -p controlg --example own_arrays
//! ```

use controlg::config::{Config, FeatureNormalization};
use controlg::graph::{Features, Graph};
use controlg::{Real, TrainedModel};

/// A ring of `n` nodes with shortcuts, and two features per node.
fn ring(n: u32) -> controlg::Result<Graph> {
    let edges: Vec<(u32, u32)> = (0..n).flat_map(|u| [(u, (u + 1) % n), (u, (u + 7) % n)]).collect();
    let features: Vec<Real> = (0..n).flat_map(|u| [Real::from((u % 5) as u8), 1.0]).collect();
    Graph::from_edges(n as usize, &edges, Features::dense(n as usize, 2, features)?)
}

fn main() -> controlg::Result<()> {
    let graph = ring(100)?;
    let config = Config::for_data("ring")?
        .normalize(FeatureNormalization::Columns)
        .width(8)
        .epochs(1)
        .steps_per_epoch(30)
        .seed(1);
    let model = controlg::pretrain(&graph, &config)?;
    println!("first node: {:?}", model.embeddings().row(0));

    let dir = std::env::temp_dir().join(format!("controlg-own-arrays-{}", std::process::id()));
    model.save(&dir)?;
    let loaded = TrainedModel::load(&dir)?;
    std::fs::remove_dir_all(&dir).map_err(|error| controlg::Error::io("removing the folder", error))?;

    assert_eq!(loaded.embed(&graph)?, *model.embeddings());
    println!("a larger ring: {} embeddings", loaded.embed(&ring(150)?)?.n_rows());
    Ok(())
}
