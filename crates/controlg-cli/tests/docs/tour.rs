//! The tour of the Rust API in the manual.

use std::path::Path;

use controlg::audit::audit;
use controlg::data::split::random_10_10_80;
use controlg::data::{self, LoadOptions};
use controlg::eval::{ProbeSettings, evaluate_nc};
use controlg::graph::{Features, Graph};
use controlg::recorded_scheduler::RecordedScheduler;
use controlg::{Config, Result, TrainedModel};

pub(crate) fn pretrain_a_data_set(folder: &Path) -> Result<()> {
    let data = data::load("synthetic:nodes=300,features=32", &LoadOptions::default())?;
    let config = Config::for_data("synthetic")?.width(16).epochs(2).seed(7);
    let model = controlg::pretrain(&data.graph, &config)?;

    let labels = data.labels.as_ref().expect("the synthetic graph has labels");
    let embeddings = Features::Dense(model.embeddings().clone());
    let splits = [random_10_10_80(labels, 0)];
    let score = evaluate_nc(&embeddings, labels, &splits, &ProbeSettings::default())?;
    println!("{:.1} % accuracy", score.value);

    model.save(folder)?;
    let summary = audit(folder)?;
    println!("{} blocks, all decisions recomputed", summary.blocks);

    let larger = data::load("synthetic:nodes=400,features=32,seed=1", &LoadOptions::default())?;
    let z = TrainedModel::load(folder)?.embed(&larger.graph)?;
    assert_eq!((z.n_rows(), z.n_cols()), (400, 16));
    Ok(())
}

pub(crate) fn pretrain_on_arrays() -> Result<()> {
    let n = 100;
    let ring: Vec<(u32, u32)> = (0..n).map(|node| (node, (node + 1) % n)).collect();
    let x = (0..n * 4).map(|i| (i % 7) as f32).collect();
    let graph = Graph::from_edges(n as usize, &ring, Features::dense(n as usize, 4, x)?)?;
    let config = Config::for_data("ring")?.width(8).epochs(1).set("objective.p_par.parts", 4)?;
    let model = controlg::pretrain(&graph, &config)?;
    assert_eq!(model.embeddings().n_rows(), 100);
    Ok(())
}

pub(crate) fn schedule_your_own_loop(record: &Path) -> Result<()> {
    let objectives = vec!["contrast".to_owned(), "rebuild".to_owned()];
    let mut scheduler = RecordedScheduler::new(objectives, Default::default(), Some(record))?;
    for _block in 0..100 {
        if scheduler.due() {
            // Losses, inner products of the gradients at the shared parameters, Rayleigh quotients.
            let products = [vec![1.0, -0.2], vec![-0.2, 0.5]];
            scheduler.sense(vec![1.5, 0.8], &products, vec![0.4, 0.9])?;
        }
        let objective = scheduler.next(1)?.objective; // train this one for a block of one step
        assert!(objective < 2);
    }
    assert_eq!(audit(record)?.blocks, 100);
    Ok(())
}
