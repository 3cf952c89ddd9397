//! Rayleigh quotients by relation against dense matrices.

use controlg::Real;
use controlg::graph::Laplacian;
use controlg::objective::OBJECTIVES;

use crate::bench::model;
use crate::common::numbers;
use crate::{small, with_and_without_types};

/// tr(Hᵀ(I − D^-½ A D^-½)H)/‖H‖² on some nodes, with the matrix A written out.
fn dense_quotient(pairs: &[(usize, usize)], nodes: &[usize], h: &[Real], width: usize) -> f64 {
    let n = h.len() / width;
    let mut a = vec![vec![0.0f64; n]; n];
    for &(u, v) in pairs {
        a[u][v] += 0.5;
        a[v][u] += 0.5;
    }
    let degree: Vec<f64> = a.iter().map(|row| row.iter().sum()).collect();
    let (mut energy, mut norm) = (0.0, 0.0);
    for column in 0..width {
        let x = |node: usize| f64::from(h[node * width + column]);
        for &u in nodes {
            norm += x(u) * x(u);
            // An isolated node has a zero row in the Laplacian.
            energy += if degree[u] > 0.0 { x(u) * x(u) } else { 0.0 };
            for &v in nodes {
                if a[u][v] > 0.0 {
                    energy -= x(u) * a[u][v] / (degree[u] * degree[v]).sqrt() * x(v);
                }
            }
        }
    }
    energy / norm
}

#[test]
fn quotients_of_relations_equal_those_of_dense_matrices() {
    let all: [&[(usize, usize)]; 4] = [
        &[(0, 5), (0, 6), (1, 6), (2, 7), (3, 8), (4, 5)],
        &[(0, 6), (1, 8), (2, 5)],
        &[(9, 5), (10, 6), (11, 8), (9, 8)],
        // Both directions of (a₀, a₁) count.
        &[(0, 1), (1, 0), (1, 2), (2, 3)],
    ];
    let (a, b, c): (Vec<usize>, Vec<usize>, Vec<usize>) =
        ((0..5).collect(), (5..9).collect(), (9..12).collect());
    let nodes = [[a.clone(), b.clone()].concat(), [a.clone(), b.clone()].concat(), [c, b].concat(), a];
    let h = numbers(7, 12 * 3);
    for directed in [true, false] {
        let graph = small(directed);
        let found = Laplacian::new(graph.adjacency()).rayleigh_by_relation(&[&h]);
        for (relation, found) in found.into_iter().enumerate() {
            // Without directions the edge and its reverse are one.
            let pairs = if relation == 3 && !directed { &all[3][1..] } else { all[relation] };
            let expected = dense_quotient(pairs, &nodes[relation], &h, 3);
            assert!((found - expected).abs() < 1e-6, "{relation} {directed}: {found} {expected}");
        }
    }
}

#[test]
fn the_quotient_is_the_weighted_mean_over_relations() {
    let graph = crate::run::bipartite(60);
    let pool: Vec<(&str, &str)> = OBJECTIVES.iter().map(|entry| (entry.name, "")).collect();
    let mut model = model(&graph, "kind = 'rgcn'\nwidth = 8", &pool, 1e-3).unwrap();
    let relations = model.relation_lines();
    assert_eq!(relations.len(), 2);
    let edges: usize = relations.iter().map(|relation| relation.edges).sum();
    for relation in &relations {
        assert!((relation.weight - relation.edges as f64 / edges as f64).abs() < 1e-12);
    }
    let reading = model.measure(0).unwrap();
    assert_eq!((reading.rq_relation.len(), reading.rq_relation[0].len()), (2, 5));
    for (k, rq) in reading.rq.iter().enumerate() {
        let mean: f64 =
            relations.iter().zip(&reading.rq_relation).map(|(relation, row)| relation.weight * row[k]).sum();
        assert!((rq - mean).abs() < 1e-12);
        assert!(*rq > 0.0 && *rq < 2.0);
    }
}

/// The paper's quotient is the case of one relation.
#[test]
fn one_relation_gives_the_quotient_of_the_graph() {
    let [typed, plain] = with_and_without_types();
    let h = numbers(3, 300 * 4);
    let expected = Laplacian::new(plain.adjacency()).rayleigh(&[&h]);
    assert_eq!(Laplacian::new(typed.adjacency()).rayleigh_by_relation(&[&h]), [expected]);
    assert!(Laplacian::new(plain.adjacency()).rayleigh_by_relation(&[&h]).is_empty());
}
