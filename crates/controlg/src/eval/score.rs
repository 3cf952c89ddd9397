//! What an evaluation gives: a number and everything that is needed to know what it means.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The value of one downstream task; one object of `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The headline number in percent: accuracy (`nc`), ROC-AUC (`lp`), NMI (`cluster`).
    pub value: f64,
    /// The standard deviation over splits (`nc`) or random states (`cluster`); `None` where there is but one.
    pub std: Option<f64>,
    /// The protocol's name.
    pub protocol: String,
    /// The hash of the split, or, of several splits, of all their hashes; `None` where nothing is split.
    pub split_hash: Option<String>,
    /// How the embeddings were normalized.
    pub embedding: String,
    /// What judged them.
    pub probe: String,
    /// The probe's settings and further figures, those in percent like `value`.
    #[serde(flatten)]
    pub more: Map<String, Value>,
    /// The time it took; no part of what is compared.
    pub seconds: f64,
}

impl Score {
    /// A further figure or setting.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// A further figure by its name.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.more.get(name)?.as_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_flat_objects_that_read_back() {
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
        assert_eq!(score.figure("macro_f1"), Some(80.5));
    }
}
