#![no_main]

use controlg::Graph;
use controlg::graph::{Adjacency, Csr, Features};

// The public constructors of graphs: whatever they accept can be used.
libfuzzer_sys::fuzz_target!(|input: (u8, Vec<usize>, Vec<u32>, Option<Vec<f32>>, Vec<(u32, u32)>)| {
    let (n, offsets, columns, values, edges) = input;
    let n = usize::from(n);
    if let Ok(csr) = Csr::new(n, offsets, columns, values) {
        let back = csr.transposed().transposed();
        assert_eq!(back.n_entries(), csr.n_entries());
        (0..csr.n_rows()).for_each(|row| assert!(csr.entries(row).all(|(column, _)| (column as usize) < n)));
        if let Ok(adjacency) = Adjacency::new(csr) {
            let rows = adjacency.as_csr().n_rows();
            assert!((0..rows).all(|row| {
                adjacency
                    .as_csr()
                    .row(row)
                    .iter()
                    .all(|&other| adjacency.as_csr().contains(other, row as u32))
            }));
        }
    }
    let Ok(features) = Features::dense(n, 1, vec![1.0; n]) else { return };
    match Graph::from_edges(n, &edges, features) {
        Ok(graph) => {
            assert_eq!(graph.n_nodes(), n);
            graph.fingerprint();
        }
        Err(error) => controlg_fuzz::check_message(&error),
    }
});
