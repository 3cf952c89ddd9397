//! Known values of the baselines, and their auxiliary networks.

use controlg::Real;
use controlg::graph::Operator;
use controlg::objective::Purpose;
use controlg::tensor::{Grads, ParamId, Params, Pool, Tape};

use crate::bench::{Bench, block_model, model};
use crate::common::{dense_features, edges, graph, numbers, sparse_features};
use crate::differences::{WIDE, forever};

const ROUNDING: f64 = if WIDE { 1e-9 } else { 2e-4 };

fn assert_equal(label: &str, found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= ROUNDING * expected.abs().max(1.0),
        "{label}: {found} for {expected}"
    );
}

fn identity(n: usize) -> Vec<Real> {
    (0..n * n).map(|at| if at % (n + 1) == 0 { 1.0 } else { 0.0 }).collect()
}

fn set(params: &mut Params, entry: usize, values: &[Real]) {
    params.get_mut(ParamId { group: 1, entry }).copy_from_slice(values);
}

#[test]
fn the_initial_infomax_loss_is_ln_2() {
    let graph = block_model("");
    for name in ["dgi", "mvgrl"] {
        let encoder = "layers = 1\nwidth = 128\nnorm = 'none'";
        let loss = model(&graph, encoder, &[(name, "")], 1e-3).unwrap().losses(0).unwrap()[0];
        assert!((loss - 2f64.ln()).abs() < 1e-2, "{name}: {loss}");
    }
}

#[test]
fn dgi_is_the_cross_entropy_of_scores_by_hand() {
    let bench = Bench::new(graph(edges(), dense_features(3)), "width = 2", "dgi", "");
    let (z, shuffled) = (numbers(4, 24), numbers(5, 24));
    let mut params = bench.params();
    set(&mut params, 0, &[1.0, 2.0, -1.0, 0.5]);
    set(&mut params, 1, &[0.25]);
    let mean = |column: usize| z.iter().skip(column).step_by(2).map(|&x| f64::from(x)).sum::<f64>() / 12.0;
    let s = [0, 1].map(|column| 1.0 / (1.0 + (-mean(column)).exp()));
    let direction = [s[0] + 2.0 * s[1], -s[0] + 0.5 * s[1]];
    let score = |h: &[Real]| f64::from(h[0]) * direction[0] + f64::from(h[1]) * direction[1] + 0.25;
    let softplus = |x: f64| x.exp().ln_1p();
    let high: f64 = z.chunks(2).map(|h| softplus(-score(h))).sum();
    let low: f64 = shuffled.chunks(2).map(|h| softplus(score(h))).sum();
    assert_equal("dgi", bench.loss_with(params, &[&z, &shuffled]), (high + low) / 24.0);
}

#[test]
fn cca_ssg_is_minimal_for_uncorrelated_columns_that_agree() {
    // Orthogonal columns of ±1 with mean 0: standardization only divides them by the sample standard deviation.
    let sign = |node: usize, column: usize| if node >> column & 1 == 0 { 1.0 } else { -1.0 };
    let z: Vec<Real> = (0..8).flat_map(|node| (0..3).map(move |column| sign(node, column))).collect();
    let features = controlg::graph::Features::dense(8, 3, numbers(1, 24)).unwrap();
    let bench = Bench::new(graph(vec![(0, 1)], features), "width = 3", "cca-ssg", "lambda = 0.5");
    let kept = 7.0 / 8.0; // n − 1 of n
    let expected = -3.0 * kept + 0.5 * 2.0 * 3.0 * (1.0 - kept) * (1.0 - kept);
    let found = bench.loss_of(&[&z, &z]);
    assert!((found - expected).abs() < 1e-3, "{found} for {expected}");
}

#[test]
fn contrast_of_orthonormal_rows() {
    for name in ["grace", "gca"] {
        let table = "projector = 12\ntemperature = 0.5";
        let bench = Bench::new(graph(edges(), dense_features(3)), "width = 12", name, table);
        let mut params = bench.params();
        for (entry, values) in [identity(12), vec![0.0; 12], identity(12), vec![0.0; 12]].iter().enumerate() {
            set(&mut params, entry, values);
        }
        let z = identity(12);
        let expected = ((2f64.exp() + 22.0) / 2f64.exp()).ln();
        assert_equal(name, bench.loss_with(params, &[&z, &z]), expected);
    }
}

#[test]
fn bgrl_is_zero_for_a_perfect_prediction() {
    let table = "predictor = 4\ndrop_edges_1 = 0\ndrop_edges_2 = 0\nmask_features_1 = 0\nmask_features_2 = 0";
    let bench = Bench::new(graph(edges(), dense_features(3)), "width = 4", "bgrl", table);
    let mut params = bench.params();
    let encoder = params.groups()[0].data().to_vec();
    params.group_mut(2).data_mut().copy_from_slice(&encoder);
    // With a slope of one the predictor is the identity.
    for (entry, values) in
        [identity(4), vec![0.0; 4], vec![1.0], identity(4), vec![0.0; 4]].iter().enumerate()
    {
        set(&mut params, entry, values);
    }
    let params = forever(params);
    let mut tape = Tape::forward_only(params, forever(Pool::new()));
    let augmented = bench.augmented();
    let z = bench.encode(&mut tape, &augmented);
    let loss = bench.loss(&mut tape, &augmented, &z, Purpose::Training);
    assert_equal("bgrl", tape.scalar(loss), 0.0);
}

#[test]
fn the_target_network_follows_at_its_rate_and_gets_no_gradient() {
    let graph = block_model(":nodes=200,features=60");
    let mut model = model(&graph, "width = 8", &[("bgrl", "predictor = 8\nrate = 0.5")], 1e-2).unwrap();
    // At step 50 of 100 the half cosine is at its midpoint.
    let before = model.params().groups()[2].data().to_vec();
    assert_ne!(before, model.params().groups()[0].data(), "it is initialized independently");
    model.step(0, 50).unwrap();
    let (encoder, target) = (model.params().groups()[0].data(), model.params().groups()[2].data());
    for ((&was, &is), &towards) in before.iter().zip(target).zip(encoder) {
        let expected = 0.75 * was + 0.25 * towards;
        assert!((is - expected).abs() < 1e-6, "{is} for {expected}");
    }
}

/// A naive implementation of the decoder.
#[test]
fn graphmae_attends_to_projected_codes() {
    let table = "dropout = 0\nattention_dropout = 0\nexponent = 2\nreplace = 0";
    let bench = Bench::new(graph(edges(), sparse_features(6)), "width = 4", "graphmae", table);
    let (n, h, d) = (12, 4, 6);
    let z = numbers(4, n * h);
    let params = bench.params();
    let of = |entry: usize, at: usize| f64::from(params.get(ParamId { group: 1, entry })[at]);
    let augmented = bench.augmented();
    let masked = augmented[0].masked.as_ref().unwrap();
    let code = |node: usize, k: usize| {
        if masked.member()[node] {
            return 0.0;
        }
        (0..h).map(|j| f64::from(z[node * h + j]) * of(1, j * h + k)).sum::<f64>()
    };
    let projected: Vec<Vec<f64>> = (0..n)
        .map(|node| (0..d).map(|c| (0..h).map(|k| code(node, k) * of(4, c * h + k)).sum()).collect())
        .collect();
    let score = |entry: usize, node: usize| (0..d).map(|c| of(entry, c) * projected[node][c]).sum::<f64>();
    let operator = Operator::gcn(bench.graph.adjacency());
    let error = |&node: &u32| {
        let node = node as usize;
        let weight = |other: usize| {
            let e = score(2, other) + score(3, node);
            (if e > 0.0 { e } else { 0.2 * e }).exp()
        };
        let others: Vec<usize> = operator.matrix().row(node).iter().map(|&v| v as usize).collect();
        let total: f64 = others.iter().map(|&v| weight(v)).sum();
        let guess =
            |c: usize| of(5, c) + others.iter().map(|&v| weight(v) / total * projected[v][c]).sum::<f64>();
        let mut truth = vec![0.0; d];
        bench.graph.features().row(node).into_iter().for_each(|(c, x)| truth[c as usize] = f64::from(x));
        let guess: Vec<f64> = (0..d).map(guess).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let cosine = dot(&guess, &truth) / (dot(&guess, &guess) * dot(&truth, &truth)).sqrt().max(1e-30);
        (1.0 - cosine).powi(2)
    };
    let expected = masked.ids().iter().map(error).sum::<f64>() / masked.ids().len() as f64;
    assert_equal("graphmae", bench.loss_of(&[&z]), expected);
}

/// The paper's objectives become those of their families by settings alone.
#[test]
fn reconstruction_and_decorrelation_reach_their_families_by_settings() {
    let attention = "decoder = 'gat'\ninit = 'normal'\nmin_norm = 1e-12\nreplace = 0.05\ndropout = 0.2\n\
                     attention_dropout = 0.1";
    let correlation = "head = 'none'\nloss = 'cca'\ndeviation = 'sample'\nlambda = 1e-3\ndrop_edges = 0.2\n\
                       mask_features = 0.2";
    for (own, table, family) in [("p_recon", attention, "graphmae"), ("p_decor", correlation, "cca-ssg")] {
        let [own, family] = [(own, table), (family, "")].map(|(name, table)| {
            let bench = Bench::new(graph(edges(), sparse_features(6)), "width = 4", name, table);
            let params = forever(bench.params());
            let mut tape = Tape::new(params, forever(Pool::new()));
            let augmented = bench.augmented();
            let z = bench.encode(&mut tape, &augmented);
            let loss = bench.loss(&mut tape, &augmented, &z, Purpose::Training);
            let mut grads = Grads::new(params);
            tape.backward(loss, &mut grads);
            (
                params.clone(),
                tape.scalar(loss).to_bits(),
                [0, 1].map(|group| grads.group(group).map(<[_]>::to_vec)),
            )
        });
        assert!(own == family, "{table}");
    }
}

#[test]
fn a_diffusion_that_is_too_large_is_rejected_with_its_memory() {
    let graph = graph(edges(), dense_features(3));
    let Err(error) = model(&graph, "width = 4", &[("mvgrl", "most_nodes = 11")], 1e-3) else {
        panic!("twelve nodes were accepted")
    };
    let expected = "objective mvgrl: found 12 nodes, whose diffusion needs up to 1 MB, expected at most \
                    objective.mvgrl.most_nodes = 11";
    assert_eq!((error.to_string().as_str(), error.exit_code()), (expected, 2));
}
