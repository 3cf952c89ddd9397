//! Pretrains on a data set and scores the embeddings with a linear probe.
//!
//! ```sh
//! cargo run --release -p controlg --example embed_dataset          # the synthetic graph
//! cargo run --release -p controlg --example embed_dataset -- cora  # a known name or a path
//! ```

use controlg::config::Config;
use controlg::data::{self, LoadOptions};
use controlg::eval::{self, ProbeSettings};
use controlg::graph::Features;

fn main() -> controlg::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "synthetic:nodes=500".to_owned());
    let dataset = data::load(&name, &LoadOptions::default())?;
    println!("{name}: {} nodes, {} edges", dataset.graph.n_nodes(), dataset.graph.n_edges());

    let config = Config::for_data(&name)?.width(32).epochs(2).steps_per_epoch(30);
    let model = controlg::pretrain(&dataset.graph, &config)?;
    let embeddings = model.embeddings();
    println!("embeddings: {} × {}", embeddings.n_rows(), embeddings.n_cols());

    if let Some(labels) = &dataset.labels {
        let splits = data::select_splits(&name, &dataset.splits, labels, None, 0)?;
        let embeddings = Features::Dense(embeddings.clone());
        let score = eval::evaluate_nc(&embeddings, labels, &splits, &ProbeSettings::default())?;
        println!("node classification: {:.1} % accuracy ({})", score.value, score.protocol);
    }
    Ok(())
}
