//! Known values, from theory or computed naively.

use controlg::Real;
use controlg::graph::{Graph, Operator, partition};
use controlg::objective::{OBJECTIVES, Purpose, all};
use controlg::tensor::{Pool, Tape};

use crate::bench::{Bench, block_model, model};
use crate::common::{dense_features, edges, graph, numbers, sparse_features};
use crate::differences::{WIDE, forever};

/// Relative tolerance for rounding errors.
const ROUNDING: f64 = if WIDE { 1e-10 } else { 1e-4 };

type Matrix = Vec<Vec<f64>>;

fn assert_equal(label: &str, found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= ROUNDING * expected.abs().max(1e-2),
        "{label}: {found} for {expected}"
    );
}

fn rows(data: &[Real], cols: usize) -> Matrix {
    data.chunks_exact(cols).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect()
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let entry = |row: &[f64], col: usize| row.iter().zip(b).map(|(x, other)| x * other[col]).sum();
    a.iter().map(|row| (0..b[0].len()).map(|col| entry(row, col)).collect()).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(1e-30)
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// Mean cross-entropy of the rows.
fn cross_entropy(logits: &Matrix, targets: impl Iterator<Item = usize>) -> f64 {
    let one = |(row, target): (&Vec<f64>, usize)| {
        let top = row.iter().copied().fold(f64::MIN, f64::max);
        row.iter().map(|x| (x - top).exp()).sum::<f64>().ln() + top - row[target]
    };
    logits.iter().zip(targets).map(one).sum::<f64>() / logits.len() as f64
}

#[test]
fn initial_losses_are_those_of_chance() {
    let graph = block_model("");
    let pool: Vec<(&str, &str)> = OBJECTIVES.iter().map(|entry| (entry.name, "")).collect();
    // Wider networks start further from chance: their views agree more before training, which lowers p_minsg, and the
    // unit variance of the logits adds about half of it to p_par.
    for (width, tolerance) in [(64, 0.15), (256, 0.20)] {
        let losses = model(&graph, &format!("width = {width}"), &pool, 1e-3).unwrap().losses(0).unwrap();
        let chance =
            [("p_link", 2.0 * 2f64.ln()), ("p_recon", 1.0), ("p_minsg", 2048f64.ln()), ("p_par", 20f64.ln())];
        for (name, expected) in chance {
            let at = OBJECTIVES.iter().position(|entry| entry.name == name).unwrap();
            let off = (losses[at] / expected - 1.0).abs();
            assert!(off < tolerance, "{name} at width {width}: {} for {expected}", losses[at]);
        }
    }
}

#[test]
fn link_is_the_cross_entropy_of_edges_and_the_only_non_edge() {
    // Every pair except (1, 4) is an edge, so it is the only negative.
    let pairs: Vec<(u32, u32)> =
        (0..12).flat_map(|u| (0..u).map(move |v| (v, u))).filter(|&pair| pair != (1, 4)).collect();
    let z = numbers(4, 12 * 3);
    let s = product(&rows(&z, 3), &transposed(&rows(&z, 3)));
    let positive =
        pairs.iter().map(|&(u, v)| softplus(-s[u as usize][v as usize])).sum::<f64>() / pairs.len() as f64;
    let expected = positive + softplus(s[1][4]);
    let bench =
        |table: &str| Bench::new(graph(pairs.clone(), dense_features(3)), "width = 3", "p_link", table);
    let loss = |table: &str| bench(&format!("decoder = 'dot'\n{table}")).loss_of(&[&z]);
    assert_equal("separate means", loss("mask = 0"), expected);
    assert_equal("one mean", loss("mask = 0\nmean = 'joint'"), expected / 2.0);
    let hidden = bench("mask = 0.5").augmented()[0].hidden_edges.clone();
    let positive = hidden.iter().map(|&(u, v)| softplus(-s[u as usize][v as usize])).sum::<f64>();
    let expected = positive / hidden.len() as f64 + softplus(s[1][4]);
    assert_equal("hidden edges only", loss("mask = 0.5"), expected);
}

#[test]
fn the_encoder_sees_no_positive_of_link_prediction() {
    for (table, visible) in [("mask = 0.7", 4), ("mask = 0.4", 8), ("mask = 0", 14)] {
        let bench = Bench::new(graph(edges(), dense_features(3)), "width = 3", "p_link", table);
        let view = &bench.augmented()[0];
        let operator = view.view.operator();
        let seen = |u: u32, v: u32| operator.matrix().row(u as usize).contains(&v);
        assert_eq!(
            bench.graph.edges().filter(|&(u, v)| seen(u, v) && seen(v, u)).count(),
            visible,
            "{table}"
        );
        assert!(view.hidden_edges.iter().all(|&(u, v)| !seen(u, v) && !seen(v, u)), "{table}");
        assert_eq!(view.hidden_edges.len() + visible, bench.graph.n_edges(), "{table}");
    }
}

fn transposed(a: &Matrix) -> Matrix {
    (0..a[0].len()).map(|col| a.iter().map(|row| row[col]).collect()).collect()
}

#[test]
fn reconstruction_masks_again_before_the_decoder() {
    for table in [
        "",
        "replace = 0.4",
        "drop_edges = 0.5\nexponent = 2",
        "remask = false",
        "drop_edges = 0.5\nremask = false",
        "decoder = 'linear'",
        "decoder = 'linear'\nremask = false",
    ] {
        let bench = Bench::new(graph(edges(), sparse_features(6)), "width = 4", "p_recon", table);
        let z = numbers(4, 12 * 4);
        let params = bench.params();
        let [_, first, second, bias] = [0, 1, 2, 3].map(|entry| {
            let id = controlg::tensor::ParamId { group: 1, entry };
            rows(params.get(id), params.shape(id).1)
        });
        let augmented = bench.augmented();
        let masked = augmented[0].masked.as_ref().unwrap();
        assert_eq!(masked.ids().len(), 6);
        let mut r = product(&rows(&z, 4), &first);
        let linear = table.contains("linear");
        if !linear && !table.contains("remask") {
            masked.ids().iter().for_each(|&node| r[node as usize].fill(0.0));
        }
        if !linear {
            r = product(&dense_operator(&augmented[0].view.operator()), &r);
        }
        let rebuilt = product(&r, &transposed(&second));
        let power = if table.contains("exponent") { 2 } else { 3 };
        let error = |&node: &u32| {
            let guess: Vec<f64> = rebuilt[node as usize].iter().zip(&bias[0]).map(|(x, b)| x + b).collect();
            let mut truth = vec![0.0; 6];
            let entries = bench.graph.features().row(node as usize).into_iter();
            entries.for_each(|(column, x)| truth[column as usize] = f64::from(x));
            (1.0 - cosine(&guess, &truth)).powi(power)
        };
        let expected = masked.ids().iter().map(error).sum::<f64>() / 6.0;
        assert_equal(table, bench.loss_of(&[&z]), expected);
    }
}

fn dense_operator(operator: &Operator) -> Matrix {
    let matrix = operator.matrix();
    let mut dense = vec![vec![0.0; matrix.n_cols()]; matrix.n_rows()];
    for (row, dense) in dense.iter_mut().enumerate() {
        matrix.entries(row).for_each(|(column, x)| dense[column as usize] = f64::from(x));
    }
    dense
}

#[test]
fn contrast_of_orthonormal_rows_in_identical_views() {
    let mut unit: Vec<Real> = vec![0.0; 12 * 12];
    (0..12).for_each(|i| unit[i * 13] = 1.0);
    for (batch, temperature) in [(12, 0.2f64), (5, 0.5)] {
        let table = format!(
            "readout = 'node'\nhead = 'none'\nbatch = {batch}\ntemperature = {temperature}\ndrop_edges = 0\n\
             mask_features = 0"
        );
        let bench = Bench::new(graph(edges(), dense_features(3)), "width = 12", "p_minsg", &table);
        let expected = (1.0 + f64::from(batch - 1) * (-1.0 / temperature).exp()).ln();
        assert_equal(&table, bench.loss_of(&[&unit, &unit]), expected);
    }
}

#[test]
fn views_without_augmentation_are_the_clean_graph() {
    for name in ["p_minsg", "p_decor"] {
        let table = "drop_edges = 0\nmask_features = 0";
        let bench = Bench::new(graph(edges(), sparse_features(6)), "width = 4", name, table);
        let mut tape = Tape::forward_only(forever(bench.params()), forever(Pool::new()));
        let z = bench.encode(&mut tape, &bench.augmented());
        assert_eq!(tape.value(z[0]), tape.value(z[1]));
        let clean = Bench::new(graph(edges(), sparse_features(6)), "width = 4", "p_par", "parts = 2");
        let whole = clean.encode(&mut tape, &clean.augmented());
        assert_eq!(tape.value(z[0]), tape.value(whole[0]));
    }
}

/// The contrastive loss of dot products with these contexts, over all nodes.
fn contrast(z: &Matrix, contexts: &Matrix, temperature: f64) -> f64 {
    let mut scores = product(z, &transposed(contexts));
    scores.iter_mut().flatten().for_each(|score| *score /= temperature);
    let n = scores.len();
    cross_entropy(&scores, 0..n)
}

#[test]
fn contexts_are_the_mean_along_walks() {
    for hops in [1, 3, 4] {
        let table = format!("head = 'none'\nsimilarity = 'dot'\ntemperature = 2\nhops = {hops}");
        let bench = Bench::new(graph(edges(), dense_features(3)), "width = 5", "p_minsg", &table);
        let (first, second) = (numbers(4, 60), numbers(5, 60));
        let walk = walk(bench.graph);
        let mut term = rows(&second, 5);
        let mut contexts = term.clone();
        for _ in 0..hops {
            term = product(&walk, &term);
            contexts.iter_mut().flatten().zip(term.iter().flatten()).for_each(|(sum, x)| *sum += x);
        }
        contexts.iter_mut().flatten().for_each(|x| *x /= f64::from(hops + 1));
        for alone in [10, 11] {
            let own = &rows(&second, 5)[alone];
            assert!(own.iter().zip(&contexts[alone]).all(|(a, b)| (a - b).abs() < 1e-12));
        }
        assert_equal(&table, bench.loss_of(&[&first, &second]), contrast(&rows(&first, 5), &contexts, 2.0));
    }
}

/// D⁻¹A, with a self-loop at isolated nodes.
fn walk(graph: &Graph) -> Matrix {
    let n = graph.n_nodes();
    let mut walk = vec![vec![0.0; n]; n];
    for (node, row) in walk.iter_mut().enumerate() {
        graph.neighbors(node).iter().for_each(|&other| row[other as usize] = 1.0 / graph.degree(node) as f64);
        if graph.degree(node) == 0 {
            row[node] = 1.0;
        }
    }
    walk
}

#[test]
fn contexts_are_the_mean_over_exact_neighborhoods() {
    for (hops, limit) in [(1, 0), (2, 0), (3, 0), (2, 12)] {
        let table = format!(
            "readout = 'ego-mean'\nhead = 'none'\nsimilarity = 'dot'\ntemperature = 2\nhops = {hops}\n\
             ego_nodes = {limit}"
        );
        let bench = Bench::new(graph(edges(), dense_features(3)), "width = 5", "p_minsg", &table);
        let (first, second) = (numbers(4, 60), numbers(5, 60));
        let contexts: Matrix =
            (0..12).map(|node| ego_mean(bench.graph, node, hops, &rows(&second, 5))).collect();
        assert_equal(&table, bench.loss_of(&[&first, &second]), contrast(&rows(&first, 5), &contexts, 2.0));
    }
}

fn ego_mean(graph: &Graph, node: usize, hops: usize, z: &Matrix) -> Vec<f64> {
    let mut nodes = std::collections::BTreeSet::from([node as u32]);
    for _ in 0..hops {
        let reached: Vec<u32> = nodes.iter().flat_map(|&v| graph.neighbors(v as usize)).copied().collect();
        nodes.extend(reached);
    }
    let mean = |col: usize| nodes.iter().map(|&v| z[v as usize][col]).sum::<f64>() / nodes.len() as f64;
    (0..z[0].len()).map(mean).collect()
}

#[test]
fn decorrelation_of_identical_views() {
    let bench = |table: &str| {
        let table = format!("head = 'none'\n{table}");
        Bench::new(graph(edges(), dense_features(3)), "width = 3", "p_decor", &table)
    };
    // Three uncorrelated columns of ±1 with mean 0, over twelve nodes.
    let signs = [[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]];
    let white: Vec<Real> = (0..12).flat_map(|node| signs[node % 4]).map(|sign| sign as Real).collect();
    let loss = bench("").loss_of(&[&white, &white]);
    assert!(loss.abs() < 1e-8, "whitened: {loss}");

    let z = numbers(4, 12 * 3);
    let diagonal = bench("lambda = 0").loss_of(&[&z, &z]);
    assert!(diagonal.abs() < 1e-8, "the diagonal: {diagonal}");
    let columns: Matrix = transposed(&rows(&z, 3)).iter().map(|column| standardized(column)).collect();
    let correlation = product(&columns, &transposed(&columns));
    let off: f64 = (0..3)
        .flat_map(|i| (0..3).filter(move |&j| j != i).map(move |j| (i, j)))
        .map(|(i, j)| (correlation[i][j] / 12.0).powi(2))
        .sum();
    assert_equal("with the rest", bench("lambda = 0.5").loss_of(&[&z, &z]), 0.5 * off + diagonal);
}

fn standardized(column: &[f64]) -> Vec<f64> {
    let n = column.len() as f64;
    let mean = column.iter().sum::<f64>() / n;
    let deviation = (column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    column.iter().map(|x| (x - mean) / (deviation + 1e-5)).collect()
}

#[test]
fn partition_is_the_cross_entropy_of_metis_clusters() {
    let bench = Bench::new(graph(edges(), dense_features(3)), "width = 4", "p_par", "parts = 3");
    // Clusters of less than ten nodes say little: three become two.
    let part = partition::partition(bench.graph.adjacency(), 2, 1.03, 0).unwrap();
    let z = numbers(4, 12 * 4);
    let params = bench.params();
    let [weight, bias] = [0, 1].map(|entry| {
        let id = controlg::tensor::ParamId { group: 1, entry };
        rows(params.get(id), 2)
    });
    let mut logits = product(&rows(&z, 4), &weight);
    logits.iter_mut().for_each(|row| row.iter_mut().zip(&bias[0]).for_each(|(x, b)| *x += b));
    let expected = cross_entropy(&logits, part.iter().map(|&part| part as usize));
    assert_equal("p_par", bench.loss_of(&[&z]), expected);
}

/// Only link prediction uses a different sample size for sensing, and only on graphs with more edges than a batch.
#[test]
fn sensing_and_training_losses_agree_on_a_small_graph() {
    for entry in all() {
        let bench = Bench::new(
            graph(edges(), sparse_features(6)),
            "width = 4",
            entry.name,
            crate::tables(entry.name)[0],
        );
        let [train, sense] = [Purpose::Training, Purpose::Sensing].map(|purpose| {
            let mut tape = Tape::forward_only(forever(bench.params()), forever(Pool::new()));
            let augmented = bench.augmented();
            let z = bench.encode(&mut tape, &augmented);
            let loss = bench.loss(&mut tape, &augmented, &z, purpose);
            tape.scalar(loss)
        });
        assert_eq!(train.to_bits(), sense.to_bits(), "{}", entry.name);
    }
}
