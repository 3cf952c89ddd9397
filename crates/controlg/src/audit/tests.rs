use super::*;
use crate::config::{self, Config};
use crate::data::{self, LoadOptions};
use crate::trace::{RecordWriter, TraceEnd};
use crate::train::{Input, Training};

#[test]
fn a_record_without_newer_settings_passes() {
    let mut table = Config::preset("any");
    let set = ["data=own", "method=random", "encoder.width=8", "train.epochs=1", "train.batches_per_epoch=6"];
    set.iter().for_each(|setting| config::set(&mut table, setting).unwrap());
    config::set(&mut table, "objective.p_par.parts=3").unwrap();
    let config = Config::from_table(table).unwrap();
    let graph = data::load("synthetic:nodes=80", &LoadOptions::default()).unwrap().graph;
    let input = Input::new(&graph, &config).unwrap();
    let home = tempfile::tempdir().unwrap();
    let audit_of = |name: &str, change: &dyn Fn(&mut RunLine)| {
        let mut training = Training::new(&input, &config).unwrap();
        let path = home.path().join(name);
        let mut trace = RecordWriter::open(&path, TraceEnd::default()).unwrap();
        let Record::Run(mut header) = training.header() else { panic!("expected a run header") };
        change(&mut header);
        trace.append(&Record::Run(header)).unwrap();
        while let Some(records) = training.advance().unwrap() {
            records.iter().for_each(|record| trace.append(record).unwrap());
        }
        trace.sync().unwrap();
        audit(&path)
    };
    assert_eq!(audit_of("whole", &|_| ()).unwrap().steps, 6);
    let older = |header: &mut RunLine| {
        assert!(header.config.encoder.remove("feature_dropout").is_some());
    };
    assert_eq!(audit_of("older", &older).unwrap().steps, 6);
    assert!(audit_of("other", &|header| header.seed += 1).is_err());
}
