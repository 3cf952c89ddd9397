//! Whole runs on graphs with types: record, audit, link prediction, embedding.

use controlg::config::Config;
use controlg::data::EdgeSplit;
use controlg::eval;
use controlg::graph::{Features, Graph, Ids, Relation, Schema, TypedEdgeList, node_types};
use controlg::rng::Stream;
use controlg::trace::Record;

const COMMUNITIES: usize = 4;

/// Users who buy items and know each other, within four communities; the features of users tell the community, those of items
/// a part of it.
pub(crate) fn bipartite(users: usize) -> Graph {
    let sizes = vec![users, users / 2];
    let types = node_types(["user", "item"].map(str::to_owned).to_vec(), &sizes, &[Some(12), Some(7)]);
    let relation = |src, name: &str, dst| Relation { src, name: name.to_owned(), dst, directed: false };
    let schema = Schema::new(types, vec![relation(0, "buys", 1), relation(0, "knows", 0)]).unwrap();
    let mut stream = Stream::new(1, "test", "bipartite", 0);
    let mut within = |from: usize, n: usize| {
        let others: Vec<usize> = (0..n).filter(|other| other % COMMUNITIES == from % COMMUNITIES).collect();
        others[stream.below(others.len())] as u32
    };
    let buys = (0..3 * users).map(|at| ((at % users) as u32, within(at % users, users / 2))).collect();
    let knows = (0..2 * users).map(|at| ((at % users) as u32, within(at % users, users))).collect();
    let (adjacency, _) = TypedEdgeList { schema, sizes, pairs: vec![buys, knows] }.into_adjacency().unwrap();
    let mut features = |n: usize, d: usize| {
        let row = |node: usize, stream: &mut Stream| -> Vec<controlg::Real> {
            (0..d)
                .map(|at| {
                    if at % COMMUNITIES == node % COMMUNITIES {
                        1.0
                    } else {
                        stream.uniform().round() as controlg::Real
                    }
                })
                .collect()
        };
        Features::dense(n, d, (0..n).flat_map(|node| row(node, &mut stream)).collect()).unwrap()
    };
    let given = [Some(features(users, 12)), Some(features(users / 2, 7))];
    Graph::typed(adjacency, &given, Ids::Numbered(users + users / 2)).unwrap()
}

fn config(set: &[&str]) -> Config {
    let mut table = Config::preset("any");
    let common = [
        "encoder.kind=rgcn",
        "encoder.width=16",
        "train.epochs=2",
        "train.batches_per_epoch=20",
        "train.warmup_rounds=2",
    ];
    for assignment in common.iter().chain(set) {
        controlg::config::set(&mut table, assignment).unwrap();
    }
    Config::from_table(table).unwrap()
}

#[test]
fn the_record_holds_the_quotients_of_relations_and_audits() {
    let graph = bipartite(100);
    let folder = tempfile::tempdir().unwrap();
    let model = controlg::pretrain(&graph, config(&[])).unwrap();
    model.save(folder.path()).unwrap();
    let Record::Run(header) = &model.record()[0] else { panic!("a header") };
    let names: Vec<&str> = header.relations.iter().map(|relation| &relation.name[..]).collect();
    assert_eq!(names, ["user-buys-item", "user-knows-user"]);
    let sensed: Vec<_> = model
        .record()
        .iter()
        .filter_map(|line| match line {
            Record::Sense(line) => Some(line),
            _ => None,
        })
        .collect();
    assert!(!sensed.is_empty() && sensed.iter().all(|line| line.rq_relation.len() == 2));
    controlg::audit::audit(folder.path()).unwrap();
    // Embedding the graph again with the saved model gives the same bytes.
    assert!(controlg::train::embed(folder.path(), &graph).unwrap() == *model.embeddings());
}

/// Means over relations and walks of two steps stand beside the representations, in training, saved and loaded.
#[test]
fn feature_channels_follow_the_relations() {
    let graph = bipartite(100);
    let alone = controlg::pretrain(&graph, config(&[])).unwrap();
    for set in
        [&["embed.features=6", "embed.channels=weighted"][..], &["embed.features=64", "embed.hops=twice"]]
    {
        let folder = tempfile::tempdir().unwrap();
        let model = controlg::pretrain(&graph, config(set)).unwrap();
        assert!(model.embeddings().n_cols() > alone.embeddings().n_cols());
        model.save(folder.path()).unwrap();
        controlg::audit::audit(folder.path()).unwrap();
        assert!(controlg::train::embed(folder.path(), &graph).unwrap() == *model.embeddings(), "{set:?}");
        // The need for memory counts them.
        let need = |set: &[&str]| controlg::train::memory::need(&graph, &config(set)).unwrap().total();
        assert!(need(set) >= need(&[]));
    }
    // Users: knows-knows and buys-buys end at users, one walk ends at items; 12 + 12 + 12 + 7 columns, and 16 of the encoder.
    let model = controlg::pretrain(&graph, config(&["embed.features=64", "embed.hops=twice"])).unwrap();
    assert_eq!(model.embeddings().n_cols(), 16 + 12 + 12 + 7);
}

#[test]
fn equal_weights_of_relations_are_recorded() {
    let graph = bipartite(60);
    let model =
        controlg::pretrain(&graph, config(&["sense.relation_weights=equal", "train.epochs=1"])).unwrap();
    let Record::Run(header) = &model.record()[0] else { panic!("a header") };
    assert!(header.relations.iter().all(|relation| (relation.weight - 0.5).abs() < 1e-12));
}

#[test]
fn links_of_every_relation_are_split_and_scored() {
    let graph = bipartite(200);
    let relations = graph.relations().unwrap();
    let split = EdgeSplit::draw(&graph, 1).unwrap();
    assert_eq!(split, EdgeSplit::draw(&graph, 1).unwrap());
    let edges = relations.n_edges(graph.adjacency());
    for relation in 0..2 {
        let part = split.of_relation(&graph, relations, relation);
        assert_eq!(part.test.len(), edges[relation] / 5);
        assert_eq!(part.val.len(), edges[relation] / 10);
        assert_eq!(part.test_negatives.len(), part.test.len());
        let types = if relation == 0 { (0, 1) } else { (0, 0) };
        let of = |pairs: &[(u32, u32)]| {
            pairs.iter().all(|&(u, v)| (relations.type_of(u), relations.type_of(v)) == types)
        };
        assert!(of(&part.test) && of(&part.test_negatives) && of(&part.train_negatives));
        assert!(part.test_negatives.iter().all(|&(u, v)| !graph.adjacency().contains(u, v)));
    }
    let training = split.training_graph(&graph).unwrap();
    let left = training.relations().unwrap().n_edges(training.adjacency());
    assert_eq!(left[0] + left[1], split.train.len());
    let model =
        controlg::pretrain(&graph, config(&["edges=train", "train.epochs=6", "train.lr=0.01"])).unwrap();
    let score = eval::evaluate_lp(
        &Features::Dense(model.embeddings().clone()),
        &graph,
        &EdgeSplit::draw(&graph, 0).unwrap(),
    )
    .unwrap();
    let of_relations = score.more["relations"].as_object().unwrap();
    let values: Vec<f64> = of_relations.values().map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(of_relations.keys().collect::<Vec<_>>(), ["user-buys-item", "user-knows-user"]);
    assert!((score.value - (values[0] + values[1]) / 2.0).abs() < 1e-9);
    // Communities are easy to see: far above chance.
    assert!(score.value > 75.0, "{}", score.value);
}

/// Mini-batches by neighbor sampling and by clusters train on subgraphs with relations, and the memory is predicted.
#[test]
fn mini_batches_keep_the_relations() {
    let graph = bipartite(400);
    for batch in ["neighbor", "cluster"] {
        let set = [
            &format!("train.batch={batch}")[..],
            "train.batch_nodes=150",
            "train.fanout=4",
            "sense.probe_nodes=150",
        ];
        let model = controlg::pretrain(&graph, config(&set)).unwrap();
        assert_eq!(model.embeddings().n_rows(), 600);
        let again = controlg::pretrain(&graph, config(&set)).unwrap();
        assert!(model.embeddings() == again.embeddings(), "{batch}");
        assert!(controlg::train::memory::need(&graph, &config(&set)).unwrap().total() > 0);
    }
}

#[test]
fn floors_treat_each_type_by_itself() {
    use controlg::eval::floors;
    let graph = bipartite(40);
    let raw = floors::raw(&graph);
    assert_eq!((raw.n_rows(), raw.n_cols()), (60, 19));
    // Users have zeros in the columns of items.
    assert!(raw.row(3).iter().all(|&(column, _)| column < 12));
    assert!(raw.row(45).iter().all(|&(column, _)| (12..19).contains(&column)));
    // The mean over meta-paths of a user: of users who buy the same items, and of those the user knows.
    let relations = graph.relations().unwrap();
    let mean = floors::mean(&graph);
    let neighbors = |node: u32, relation: usize| -> Vec<u32> {
        let at = graph.adjacency().offsets()[node as usize];
        let entries = graph.neighbors(node as usize).iter().enumerate();
        entries
            .filter(|(i, _)| relations.relations_at(at + i).any(|r| r == relation))
            .map(|(_, &v)| v)
            .collect()
    };
    let average = |nodes: &[u32], of: &dyn Fn(u32) -> Vec<f64>| -> Vec<f64> {
        let mut sum = vec![0.0; 19];
        for &node in nodes {
            sum.iter_mut().zip(of(node)).for_each(|(sum, x)| *sum += x / nodes.len() as f64);
        }
        sum
    };
    let own = |node: u32| {
        let mut row = vec![0.0; 19];
        raw.row(node as usize).into_iter().for_each(|(column, x)| row[column as usize] = f64::from(x));
        row
    };
    for user in [0, 7, 21] {
        let bought = average(&neighbors(user, 0), &|item| average(&neighbors(item, 0), &own));
        let known = average(&neighbors(user, 1), &own);
        for (column, x) in mean.row(user as usize) {
            let expected = 0.5 * (bought[column as usize] + known[column as usize]);
            assert!((f64::from(x) - expected).abs() < 1e-5, "{user} {column}: {x} {expected}");
        }
    }
}

/// Held-out edges and negatives have relations too, and a run is the same at any number of threads.
#[test]
fn expected_gain_plans_on_relations_at_any_thread_count() {
    let graph = bipartite(120);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            controlg::pretrain(&graph, config(&["method=controlg-gain", "encoder.bases=2"])).unwrap()
        })
    };
    let [one, three] = [1, 3].map(run);
    assert!(one.embeddings() == three.embeddings());
    let held_out =
        one.record().iter().any(|line| matches!(line, Record::Sense(line) if !line.held_out.is_empty()));
    assert!(held_out);
}
