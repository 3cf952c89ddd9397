//! Gradients of every objective with respect to encoder, head and embeddings, against central differences.

use controlg::graph::Features;
use controlg::objective::{Purpose, all};
use controlg::tensor::{Grads, Pool, Tape, Var};

use crate::bench::Bench;
use crate::common::{edges, graph, sparse_features, spread};
use crate::differences::{assert_near, check_groups, flat, forever};
use crate::tables;

/// Twelve nodes, two of them isolated, one without features.
fn benches(encoder: &str, name: &str, table: &str) -> [(String, Bench); 2] {
    let both: [(&str, Features); 2] =
        [("sparse", sparse_features(6)), ("dense", spread(&sparse_features(6)))];
    both.map(|(kind, features)| {
        let label = format!("{name} {table:?} {kind} {encoder:?}");
        (label, Bench::new(graph(edges(), features), encoder, name, table))
    })
}

#[test]
fn gradients_with_respect_to_parameters() {
    for entry in all() {
        for (at, table) in tables(entry.name).iter().enumerate() {
            let mut all = Vec::from(benches("width = 4", entry.name, table));
            if at == 0 {
                all.extend(benches("kind = 'gat'\nwidth = 4\nheads = 2", entry.name, table));
            }
            for (label, bench) in all {
                for purpose in [Purpose::Training, Purpose::Sensing] {
                    check_groups(
                        &format!("{label} {purpose:?}"),
                        &bench.params(),
                        bench.n_learned(),
                        &|tape, _| {
                            let augmented = bench.augmented();
                            let z = bench.encode(tape, &augmented);
                            bench.loss(tape, &augmented, &z, purpose)
                        },
                    );
                }
            }
        }
    }
}

#[test]
fn gradients_with_respect_to_embeddings() {
    for entry in all() {
        for table in tables(entry.name) {
            for (label, bench) in benches("width = 4", entry.name, table) {
                let loss = |tape: &mut Tape<'static>, z: &[Var]| {
                    bench.loss(tape, &bench.augmented(), z, Purpose::Sensing)
                };
                check_groups(&label, &bench.params_at_z(), bench.n_learned(), &loss);
            }
        }
    }
}

/// A tape cut at the embeddings gives their gradient; continuing the backward pass from there gives the encoder's.
#[test]
fn a_cut_at_the_embeddings_splits_the_backward_pass() {
    for entry in all() {
        for table in tables(entry.name) {
            for (label, bench) in benches("width = 4", entry.name, table) {
                compare_halves(&label, &bench);
            }
        }
    }
}

fn compare_halves(label: &str, bench: &Bench) {
    let at_z = forever(bench.params_at_z());
    let mut of_z = Grads::new(at_z);
    let mut tape = Tape::new(at_z, forever(Pool::new()));
    let z = tape.group(0);
    let loss = bench.loss(&mut tape, &bench.augmented(), &z, Purpose::Sensing);
    tape.backward(loss, &mut of_z);

    let params = forever(bench.params());
    let (mut direct, mut in_parts) = (Grads::new(params), Grads::new(params));
    let mut tape = Tape::new(params, forever(Pool::new()));
    let augmented = bench.augmented();
    let encoded = bench.encode(&mut tape, &augmented);
    let loss = bench.loss(&mut tape, &augmented, &encoded, Purpose::Sensing);
    tape.backward(loss, &mut direct);

    let z: Vec<Var> = encoded.iter().map(|&z| tape.detached_leaf(z)).collect();
    let loss = bench.loss(&mut tape, &augmented, &z, Purpose::Sensing);
    tape.backward(loss, &mut in_parts);
    let left: Vec<_> =
        z.iter().map(|&z| tape.take_gradient(z).expect("every embedding has a gradient")).collect();
    assert_eq!(
        of_z.group(0).expect("a gradient"),
        left.iter().flat_map(|part| part.to_vec()).collect::<Vec<_>>()
    );
    for (&encoded, part) in encoded.iter().zip(left) {
        tape.backward_from(encoded, part, &mut in_parts);
    }
    let direct: Vec<f64> = flat(params, &direct).into_iter().map(f64::from).collect();
    assert_near(label, &direct, &flat(params, &in_parts), 1e-4);
}
