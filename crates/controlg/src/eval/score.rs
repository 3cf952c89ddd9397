//! Result of an evaluation: the value together with its protocol.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Score on one downstream task; one object of `metrics.json`. The field names are the JSON keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Score in percent: accuracy (`nc`), ROC-AUC (`lp`) or NMI (`cluster`).
    pub value: f64,
    /// Standard deviation over splits (`nc`) or random states (`cluster`); `None` for a single one.
    pub std: Option<f64>,
    /// Name of the protocol.
    pub protocol: String,
    /// Hash of the split or splits; `None` without a split.
    pub split_hash: Option<String>,
    /// Normalization of the embeddings.
    pub embedding: String,
    /// Probe, decoder or clustering algorithm.
    pub probe: String,
    /// Probe settings and further metrics; metrics are in percent.
    #[serde(flatten)]
    pub more: Map<String, Value>,
    /// Evaluation time.
    pub seconds: f64,
}

/// The validation part of a [`Score`], without test figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationScore {
    /// Validation score in percent.
    pub validation: f64,
    /// Name of the protocol.
    pub protocol: String,
    /// Hash of the split or splits.
    pub split_hash: Option<String>,
    /// Normalization of the embeddings.
    pub embedding: String,
    /// Probe or decoder.
    pub probe: String,
}

impl Score {
    /// The score without test figures; `None` for a task without validation data.
    pub fn validation_only(&self) -> Option<ValidationScore> {
        Some(ValidationScore {
            validation: self.metric("validation")?,
            protocol: self.protocol.clone(),
            split_hash: self.split_hash.clone(),
            embedding: self.embedding.clone(),
            probe: self.probe.clone(),
        })
    }

    /// Adds a metric or setting.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// A further metric by name.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.more.get(name)?.as_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_flat_json_objects() {
        let score = Score {
            value: 81.9,
            std: None,
            protocol: "planetoid-public".into(),
            split_hash: Some("ab".into()),
            embedding: "l2".into(),
            probe: "lbfgs".into(),
            more: Map::new(),
            seconds: 0.5,
        };
        let score = score.with("macro_f1", 80.5);
        let text = serde_json::to_string(&score).unwrap();
        assert!(text.contains(r#""macro_f1":80.5"#) && text.contains(r#""std":null"#), "{text}");
        assert_eq!(serde_json::from_str::<Score>(&text).unwrap(), score);
        assert_eq!(score.metric("macro_f1"), Some(80.5));
    }
}
