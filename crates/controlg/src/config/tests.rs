use super::*;
use crate::coordinator::METHODS;
use crate::setting;

fn config(text: &str) -> Result<Config> {
    Config::from_table(text.parse().unwrap())
}

fn message(text: &str) -> String {
    config(text).map(|_| String::new()).unwrap_or_else(|error| error.to_string())
}

#[test]
#[allow(clippy::float_cmp)] // settings are copied, not computed
fn presets_hold_the_papers_settings_and_can_be_overridden() {
    let arxiv = config("data = 'ogbn-arxiv'\npreset = 'paper'\nplan.delta = 0.3").unwrap();
    assert_eq!((arxiv.train.block, arxiv.train.epochs, arxiv.train.batches_per_epoch), (10, 4, 500));
    assert_eq!((arxiv.plan.floor, arxiv.plan.gamma, arxiv.plan.delta), (0.0, 0.5, 0.3));
    assert_eq!(arxiv.normalize, FeatureNormalization::Columns);
    for preset in Preset::ALL {
        for known in crate::data::catalog::ALL {
            let config = config(&format!("data = '{}'\npreset = '{preset}'", known.name)).unwrap();
            assert!(config.total_steps() >= 100, "{}", known.name);
        }
    }
    // Nothing but the normalization is chosen for graphs that the paper does not use.
    let own = config("data = 'my/graph'\npreset = 'paper'").unwrap();
    let train = TrainSettings { quality: false, ..TrainSettings::default() };
    assert_eq!((own.train, own.normalize), (train, FeatureNormalization::Rows));
}

#[test]
fn settings_come_from_the_data_set_then_from_any_graph_then_from_the_defaults() {
    let tuned = |data: &str| Preset::Tuned.settings(data, EdgeScope::All);
    let general = tuned("my/graph");
    for known in crate::data::catalog::ALL {
        let own = tuned(known.name);
        // What any graph gets is overridden, not dropped.
        let mut layers = general.clone();
        merge(&mut layers, own.clone());
        assert_eq!(layers, own, "{}", known.name);
    }
    // With options it is another graph than the one that the settings were chosen for.
    assert_eq!(tuned("synthetic:nodes=100"), general);
    assert_ne!(tuned("synthetic"), general);
    let paper = |data: &str| Preset::Paper.settings(data, EdgeScope::All);
    assert_eq!(paper("synthetic:nodes=100"), paper("synthetic"));
    // Link prediction has settings of its own, over which those of the user are put.
    let features = |settings: &str| config(&format!("data = 'my/graph'\n{settings}")).unwrap().embed.features;
    assert_eq!((features(""), features("edges = 'train'")), (512, 0));
    assert_eq!(features("edges = 'train'\nembed.features = 7"), 7);
    // A width that the user gives is that of the embeddings.
    assert_eq!((features("encoder.width = 64"), features("encoder.width = 64\nembed.features = 7")), (0, 7));
    // Structural features are not those that the data set's normalization was chosen for.
    let structural = |preset: &str| {
        config(&format!("data = 'ogbn-arxiv'\nfeatures = 'structural'\npreset = '{preset}'"))
            .unwrap()
            .normalize
    };
    assert_eq!(structural("tuned"), FeatureNormalization::Auto);
    assert_eq!(structural("paper"), FeatureNormalization::Rows);
}

#[test]
fn the_choice_of_presets_is_not_a_setting_of_the_run() {
    let paper = config("data = 'cora'\npreset = 'paper'").unwrap();
    let written = paper.to_toml().unwrap();
    assert!(!written.contains("preset"), "{written}");
    assert_eq!(config(&format!("preset = 'tuned'\n{written}")).unwrap(), paper);
    assert_eq!(message("data = 'cora'\npreset = 'papr'"), "unknown preset 'papr', did you mean 'paper'?");
    assert_eq!(message("data = 'cora'\npreset = 1"), "preset: found 1, expected tuned, paper");
    assert!(check("preset = 'paper'".parse().unwrap()).is_ok());
    assert!(check("preset = 'papr'".parse().unwrap()).is_err());
}

#[test]
fn other_authors_methods_do_not_depend_on_the_tuned_presets() {
    for entry in crate::objective::BASELINES {
        for known in crate::data::catalog::ALL {
            let with = |preset: Preset| {
                let text = format!("data = '{}'\nmethod = '{}'\npreset = '{preset}'", known.name, entry.name);
                config(&text).unwrap()
            };
            let (tuned, mut paper) = (with(Preset::Tuned), with(Preset::Paper));
            // For data sets that the paper does not use, version 0.1 had another default.
            paper.normalize = tuned.normalize;
            assert_eq!(tuned, paper, "{} {}", known.name, entry.name);
        }
    }
    // What was added to other encoders says nothing about one that came later.
    let sage = config("data = 'cora'\npreset = 'paper'\nencoder.kind = 'sage'").unwrap();
    assert_eq!(sage.encoder.settings()["operator"].as_str(), Some("mean"));
    // An untrained encoder is that of the methods that train it.
    let encoder = |method: &str| config(&format!("data = 'cora'\nmethod = '{method}'")).unwrap().encoder;
    assert_eq!(encoder("untrained"), encoder("controlg"));
}

#[test]
fn baselines_have_presets_for_every_data_set() {
    for entry in crate::objective::BASELINES {
        for data in crate::data::catalog::ALL.iter().map(|known| known.name).chain(["my/graph"]) {
            let config = config(&format!("data = '{data}'\nmethod = '{}'", entry.name)).unwrap();
            assert_eq!(config.objectives, [entry.name], "{data}");
            assert!(config.total_steps() >= 20 && config.objective.len() == 1, "{data} {}", entry.name);
        }
    }
    // The method's preset overrides the data set's, and the user overrides both.
    let cora = config("data = 'cora'\nmethod = 'grace'").unwrap();
    assert_eq!((cora.encoder.settings()["width"].as_integer(), cora.total_steps()), (Some(128), 200));
    let citeseer = config("data = 'citeseer'\nmethod = 'grace'\nencoder.width = 32").unwrap();
    assert_eq!(citeseer.encoder.settings()["width"].as_integer(), Some(32));
    assert_eq!(citeseer.encoder.settings()["hidden"].as_integer(), Some(512));
    assert_eq!(citeseer.encoder.settings()["norm"].as_str(), Some("none"));
    assert_eq!(citeseer.objective["grace"].settings()["temperature"].as_float(), Some(0.9));
    // Another kind of encoder keeps the settings that both kinds have.
    let other = config("data = 'cora'\nmethod = 'graphmae'\nencoder.kind = 'gcn'").unwrap();
    assert!(
        !other.encoder.settings().contains_key("heads")
            && other.encoder.settings()["norm"].as_str() == Some("none")
    );
}

#[test]
#[allow(clippy::float_cmp)] // settings are copied, not computed
fn any_objectives_can_be_combined() {
    let default = config("data = 'cora'").unwrap();
    assert!(default.objectives.iter().all(|name| name.starts_with("p_")) && default.plan.floor == 0.1);
    let names = "objectives = ['p_link', 'cca-ssg', 'graphmae', 'bgrl', 'dgi', 'grace', 'mvgrl', 'gca']";
    for method in ["controlg", "pcgrad"] {
        let pool = config(&format!("data = 'citeseer'\nmethod = '{method}'\n{names}")).unwrap();
        assert_eq!((pool.objectives.len(), pool.objective.len()), (8, 8));
        // Each objective has the settings that its authors chose for the data set; all share the other settings.
        assert_eq!(pool.objective["cca-ssg"].settings()["lambda"].as_float(), Some(5e-4));
        assert_eq!(pool.objective["grace"].settings()["temperature"].as_float(), Some(0.9));
        let shared = config("data = 'citeseer'").unwrap();
        assert!(pool.encoder == shared.encoder && pool.train == shared.train);
        assert_eq!(pool.plan.floor, 0.0625, "eight objectives");
    }
    let own =
        config("data = 'cora'\nobjectives = ['dgi', 'grace']\nobjective.grace.temperature = 0.2").unwrap();
    assert_eq!(own.objective["grace"].settings()["temperature"].as_float(), Some(0.2));
    assert_eq!(own.plan.floor, 0.1);
    let floor = config(&format!("data = 'cora'\n{names}\nplan.floor = 0.12")).unwrap().plan.floor;
    assert_eq!(floor, 0.12, "the user's choice");
    assert!(message("data = 'cora'\nobjectives = ['drace']").contains("did you mean 'grace'?"));
    assert!(message("data = 'cora'\nmethod = 'drace'").contains("did you mean 'grace'?"));
    let message = message("data = 'cora'\nobjective.grace.batch = 1");
    assert_eq!(message, "objective.grace.batch: found 1, expected 2 to 1048576");
}

#[test]
fn a_resolved_config_reads_back_to_itself() {
    for text in [
        "data = 'cora'\ncontrol.kp = [1, 2, 3, 4, 5]",
        "data = 'x'\nmethod = 'p_par'\nencoder.kind = 'gat'",
        "data = 'citeseer'\nobjectives = ['bgrl', 'mvgrl', 'dgi', 'grace', 'gca', 'graphmae', 'p_link']",
        "data = 'citeseer'\nmethod = 'graphmae'\nencoder.kind = 'gcn'",
        // Defaults that override the method's preset.
        "data = 'cora'\nmethod = 'graphmae'\ntrain.coupled_decay = false\nencoder.feature_dropout = 0",
    ] {
        let first = config(text).unwrap();
        let written = first.to_toml().unwrap();
        assert_eq!(config(&written).unwrap(), first, "{written}");
        assert_eq!(first.hash().unwrap(), config(&written).unwrap().hash().unwrap());
    }
}

#[test]
fn settings_added_later_do_not_change_hashes() {
    // The first result of results/planetoid-chameleon, made before these settings existed.
    let cora = "data = 'cora'\npreset = 'paper'\nencoder.width = 256\ntrain.epochs = 4\ncontrol.integral = 'centered'";
    let hash = |rest: &str| config(&format!("{cora}\n{rest}")).unwrap().hash().unwrap();
    assert_eq!(hash(""), "12fdcc0b755184df6f41028b05d411bfc6c7f08730a5ec138bc18614a4803bcb");
    assert_eq!(hash("train.fanout = 8\nencoder.feature_dropout = 0"), hash(""));
    assert_ne!(hash("train.fanout = 9"), hash(""));
    assert_ne!(hash("encoder.feature_dropout = 0.1"), hash(""));
    assert_eq!(hash("embed.smooth = 0"), hash(""));
    assert_ne!(hash("embed.smooth = 1"), hash(""));
    assert_eq!(hash("train.precision = 'auto'"), hash(""));
    assert_eq!(hash("train.precision = 'f32'"), hash(""));
    assert_ne!(hash("train.precision = 'bf16'"), hash(""));
    assert!(
        config("data = 'cora'\ntrain.precision = 'auto'")
            .unwrap()
            .to_toml()
            .unwrap()
            .contains("precision = \"f32\"")
    );

    // The implied value is one that the setting can have. It need not be the default.
    for (place, keys, _) in keys::tables() {
        for key in keys {
            let implied = key.added_later.map(setting::Scalar::to_value);
            assert!(implied.is_none_or(|implied| key.range.contains(&implied)), "{place}.{}", key.name);
        }
    }
}

#[test]
fn ablations_and_single_objectives_show_in_the_settings() {
    let ablation = config("data = 'cora'\nmethod = 'controlg-no-state'").unwrap();
    assert!(ablation.sense.alpha.abs() + ablation.sense.beta.abs() < 1e-12);
    let alone = config("data = 'cora'\nmethod = 'p_decor'").unwrap();
    assert_eq!(alone.objectives, ["p_decor"]);
    assert_eq!(alone.objective.keys().collect::<Vec<_>>(), ["p_decor"]);
    assert_eq!(alone.warm_up_steps(), 0);
}

#[test]
fn invalid_settings_are_reported_by_name_and_value() {
    let cora = |rest: &str| message(&format!("data = 'cora'\n{rest}"));
    assert_eq!(
        cora("plan.floor = 0.2"),
        "plan.floor: found 0.2, expected less than 1/5 = 0.2000 for 5 objectives, and not negative"
    );
    assert_eq!(cora("trian.epochs = 2"), "unknown setting 'trian', did you mean 'train'?");
    assert_eq!(cora("train.epcohs = 2"), "unknown setting 'train.epcohs', did you mean 'train.epochs'?");
    assert_eq!(
        cora("train.block = 51"),
        "train.block: found 51, expected at most train.batches_per_epoch, 50"
    );
    assert_eq!(
        cora("method = 'autossl'\ntrain.coupled_decay = true"),
        "train.coupled_decay: found true, expected false with method = autossl"
    );
    assert_eq!(cora("encoder.width = 0"), "encoder.width: found 0, expected 1 to 65536");
    assert_eq!(cora("method = 'contrlg'"), "unknown method 'contrlg', did you mean 'controlg'?");
    assert_eq!(cora("objectives = ['p_lnk']"), "unknown objective 'p_lnk', did you mean 'p_link'?");
    assert_eq!(
        cora("objectives = ['p_par', 'p_par']"),
        "objectives: found p_par twice, expected each objective once"
    );
    assert_eq!(
        cora("objective.p_link.batch = 0"),
        "objective.p_link.batch: found 0, expected 1 to 1073741824"
    );
    assert_eq!(cora("objective.p_par = 3"), "objective.p_par: found 3, expected a table");
    assert_eq!(cora("seed = -1"), "seed: found -1, expected a whole number from 0");
    assert_eq!(cora("train = 3"), "train: found 3, expected a table [train]");
    assert!(
        cora("train.warmup_rounds = 400").starts_with("train.warmup_rounds: found 400 rounds of 5 steps")
    );
    assert!(message("method = 'random'").starts_with("data: found nothing"));
}

#[test]
fn mixing_methods_have_their_own_table_and_evaluate_every_objective() {
    let mixed =
        config("data = 'cora'\nmethod = 'cagrad'\nmix.cagrad.c = 1\nmix.mgda.normalize = 'l2'").unwrap();
    assert_eq!(mixed.mix.keys().collect::<Vec<_>>(), ["cagrad"]);
    assert_eq!(mixed.mix["cagrad"].settings()["c"].as_float(), Some(1.0));
    assert_eq!(mixed.evaluations(), 5 * mixed.total_steps());
    assert_eq!(config(&mixed.to_toml().unwrap()).unwrap(), mixed);
    let scheduled = config("data = 'cora'\nmethod = 'random'").unwrap();
    assert_eq!(scheduled.evaluations(), scheduled.total_steps());
    assert!(!scheduled.to_toml().unwrap().contains("mix"));
    let cora = |rest: &str| message(&format!("data = 'cora'\n{rest}"));
    assert_eq!(
        cora("mix.cagrad.max_itr = 3"),
        "unknown setting 'mix.cagrad.max_itr', did you mean 'mix.cagrad.max_iter'?"
    );
    assert_eq!(cora("mix.cagrad.c = -1"), "mix.cagrad.c: found -1.0, expected a number from 0 to 1000000");
    assert_eq!(cora("mix.cagrd.c = 1"), "unknown setting 'mix.cagrd', did you mean 'mix.cagrad'?");
    assert_eq!(cora("mix.cagrad = 1"), "mix.cagrad: found 1, expected a table");
}

#[test]
fn overrides_are_toml_values_or_text() {
    let mut table = Config::preset("cora");
    for assignment in
        ["train.lr=3e-4", "method=random", "objectives=p_link, p_par", "seed = 3", "control.kp=[1,2]"]
    {
        set(&mut table, assignment).unwrap();
    }
    let config = Config::from_table(table).unwrap();
    assert_eq!((config.method.as_str(), config.seed, config.objectives.len()), ("random", 3, 2));
    for wrong in ["nonsense", "=3", "data.x=1"] {
        assert!(set(&mut Config::preset("cora"), wrong).is_err(), "{wrong}");
    }
}

#[test]
fn every_setting_is_documented_and_has_a_default() {
    let documented = documented().unwrap();
    for doc in &documented {
        assert!(!doc.doc.is_empty() && !doc.range.is_empty() && !doc.default.is_empty(), "{}", doc.name);
    }
    // Every setting of a resolved config is documented.
    fn walk(place: &str, table: &toml::Table, names: &mut Vec<String>) {
        for (key, value) in table {
            let name = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
            match value {
                toml::Value::Table(inner) => walk(&name, inner, names),
                _ => names.push(name),
            }
        }
    }
    let methods = METHODS.iter().map(|method| format!("method = '{}'", method.name));
    for choice in methods.chain(["gcn", "gat"].map(|kind| format!("encoder.kind = '{kind}'"))) {
        let resolved = config(&format!("data = 'cora'\n{choice}")).unwrap();
        let mut names = Vec::new();
        walk("", &setting::table_of(&resolved).unwrap(), &mut names);
        for name in names {
            assert!(documented.iter().any(|doc| doc.name == name), "{name} is not documented");
        }
    }
}

#[test]
fn hashes_are_those_of_version_0_1() {
    let rows = include_str!("../../tests/fixtures/v0.1/config_hashes.json");
    let rows: Vec<(String, String, Vec<String>, String)> = serde_json::from_str(rows).unwrap();
    assert!(rows.len() > 800);
    for (data, method, settings, hash) in rows {
        // These hashes were computed with the data set's preset over the method's.
        let mut table = Preset::Paper.settings(&data, EdgeScope::All);
        set(&mut table, &format!("data='{data}'")).unwrap();
        set(&mut table, "preset=paper").unwrap();
        set(&mut table, "control.integral=centered").unwrap();
        set(&mut table, &format!("method={method}")).unwrap();
        settings.iter().for_each(|setting| set(&mut table, setting).unwrap());
        let config = Config::from_table(table).unwrap();
        assert_eq!(config.hash().unwrap(), hash, "{data} {method} {settings:?}");
    }
}
