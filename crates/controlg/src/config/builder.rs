//! A config from typed setters.

use toml::{Table, Value};

use super::{
    Config, Custom, EdgeScope, EncoderKind, FeatureNormalization, MethodKind, ObjectiveKind, Preset, keys,
    legacy, merge, table,
};
use crate::coordinator::Coordinator;
use crate::data::FeatureSource;
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::objective::{OBJECTIVES, Objective};

/// Collects settings for a [`Config`].
///
/// Setters take the builder by value and return it. They do not fail: [`ConfigBuilder::build`] checks all settings
/// together, and every function that takes `impl TryInto<Config>` (such as `pretrain`) calls it, so a reference to the
/// builder can be passed directly. What is not set comes from the presets of the method and the data set, then from the
/// defaults, whatever the order of the calls.
///
/// ```
/// use controlg::config::{Config, MethodKind};
///
/// let config = Config::for_data("cora")?.method(MethodKind::Grace).width(256).epochs(4).build()?;
/// assert_eq!((config.encoder.width(), config.train.epochs), (256, 4));
/// assert_eq!(config.objectives, ["grace"]);
/// # Ok::<(), controlg::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ConfigBuilder {
    settings: Table,
    custom: Custom,
}

impl Config {
    /// Starts a config for a data set: the name of a known one, whose preset it takes, or any name or path of your own.
    /// Fails only if `data` is empty.
    ///
    /// ```
    /// use controlg::config::Config;
    ///
    /// let known = Config::for_data("cora")?.build()?;
    /// let own = Config::for_data("my graph")?.build()?;
    /// assert_ne!(known.control, own.control); // the preset of Cora, and the defaults
    /// assert!(Config::for_data("").is_err());
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn for_data(data: &str) -> Result<ConfigBuilder> {
        if data.trim().is_empty() {
            return Err(Error::value("data", "an empty name", "a known name, a path or a name of your own"));
        }
        let settings = Table::from_iter([("data".to_owned(), data.into())]);
        Ok(ConfigBuilder { settings, custom: Custom::default() })
    }
}

impl ConfigBuilder {
    /// Sets the method; see [`MethodKind`].
    ///
    /// ```
    /// # use controlg::config::{Config, MethodKind};
    /// let config = Config::for_data("cora")?.method(MethodKind::PcGrad).build()?;
    /// assert_eq!(config.method, "pcgrad");
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn method(self, method: MethodKind) -> Self {
        self.with("method", method.name())
    }

    /// Sets the presets that the settings are based on.
    ///
    /// ```
    /// # use controlg::config::{Config, Preset};
    /// let config = Config::for_data("cora")?.preset(Preset::Paper).build()?;
    /// assert_eq!((config.encoder.width(), config.train.lr), (512, 1e-3));
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn preset(self, preset: Preset) -> Self {
        self.with("preset", preset.name())
    }

    /// Sets the objectives that take part, in this order.
    ///
    /// ```
    /// # use controlg::config::{Config, ObjectiveKind};
    /// let config = Config::for_data("cora")?.objectives([ObjectiveKind::Link, ObjectiveKind::Decor]).build()?;
    /// assert_eq!(config.objectives, ["p_link", "p_decor"]);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn objectives(self, objectives: impl IntoIterator<Item = ObjectiveKind>) -> Self {
        let names: Vec<String> = objectives.into_iter().map(String::from).collect();
        self.with("objectives", names)
    }

    /// Sets the random seed.
    ///
    /// ```
    /// # use controlg::config::Config;
    /// assert_eq!(Config::for_data("cora")?.seed(7).build()?.seed, 7);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn seed(self, seed: u64) -> Self {
        self.with("seed", whole(seed))
    }

    /// Sets the kind of encoder.
    ///
    /// ```
    /// # use controlg::config::{Config, EncoderKind};
    /// let config = Config::for_data("cora")?.encoder(EncoderKind::Gat).build()?;
    /// assert_eq!(config.encoder.settings()["kind"].as_str(), Some("gat"));
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn encoder(self, kind: EncoderKind) -> Self {
        self.with("encoder.kind", kind.name())
    }

    /// Sets the embedding width.
    ///
    /// ```
    /// # use controlg::config::Config;
    /// assert_eq!(Config::for_data("cora")?.width(64).build()?.encoder.width(), 64);
    /// let error = Config::for_data("cora")?.width(0).build().unwrap_err();
    /// assert_eq!(error.to_string(), "encoder.width: found 0, expected 1 to 65536");
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn width(self, width: usize) -> Self {
        self.with("encoder.width", whole(width as u64))
    }

    /// Sets the number of encoder layers.
    ///
    /// ```
    /// # use controlg::config::Config;
    /// assert_eq!(Config::for_data("cora")?.layers(3).build()?.encoder.layers(), 3);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn layers(self, layers: usize) -> Self {
        self.with("encoder.layers", whole(layers as u64))
    }

    /// Sets the number of epochs.
    ///
    /// ```
    /// # use controlg::config::Config;
    /// assert_eq!(Config::for_data("cora")?.epochs(4).build()?.train.epochs, 4);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn epochs(self, epochs: usize) -> Self {
        self.with("train.epochs", whole(epochs as u64))
    }

    /// Sets the number of training steps per epoch.
    ///
    /// ```
    /// # use controlg::config::Config;
    /// assert_eq!(Config::for_data("cora")?.epochs(4).steps_per_epoch(25).build()?.total_steps(), 100);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn steps_per_epoch(self, steps: usize) -> Self {
        self.with("train.batches_per_epoch", whole(steps as u64))
    }

    /// Sets the learning rate.
    ///
    /// ```
    /// # use controlg::config::Config;
    /// assert_eq!(Config::for_data("cora")?.learning_rate(3e-4).build()?.train.lr, 3e-4);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn learning_rate(self, rate: f64) -> Self {
        self.with("train.lr", rate)
    }

    /// Sets how features are normalized before training.
    ///
    /// ```
    /// # use controlg::config::{Config, FeatureNormalization};
    /// let config = Config::for_data("cora")?.normalize(FeatureNormalization::Columns).build()?;
    /// assert_eq!(config.normalize, FeatureNormalization::Columns);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn normalize(self, normalization: FeatureNormalization) -> Self {
        self.with("normalize", name_of(normalization))
    }

    /// Replaces the features of the graph by structural ones, computed from the edges.
    ///
    /// ```
    /// # use controlg::config::Config;
    /// # use controlg::data::FeatureSource;
    /// let config = Config::for_data("cora")?.structural_features().build()?;
    /// assert_eq!(config.features, FeatureSource::Structural);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn structural_features(self) -> Self {
        self.with("features", name_of(FeatureSource::Structural))
    }

    /// Trains on the training edges of the seed's `edges-70-10-20` split only, so that link prediction can be evaluated
    /// on the others.
    ///
    /// ```
    /// # use controlg::config::{Config, EdgeScope};
    /// assert_eq!(Config::for_data("cora")?.link_prediction().build()?.edges, EdgeScope::Train);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn link_prediction(self) -> Self {
        self.with("edges", name_of(EdgeScope::Train))
    }

    /// Sets any setting by its name in the run file (`controlg list config` prints them all). Fails if there is no such
    /// setting or the value is out of its range.
    ///
    /// ```
    /// # use controlg::config::Config;
    /// let config = Config::for_data("cora")?.set("control.explore", 0.1)?.set("train.block", 5)?.build()?;
    /// assert_eq!((config.control.explore, config.train.block), (0.1, 5));
    /// let error = Config::for_data("cora")?.set("train.epcohs", 2).unwrap_err();
    /// assert_eq!(error.to_string(), "unknown setting 'train.epcohs', did you mean 'train.epochs'?");
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Result<Self> {
        let mut setting = Table::new();
        table::insert(&mut setting, name, value.into())
            .map_err(|found| Error::value(name, found, "the name of a setting"))?;
        legacy::to_new_names(&mut setting);
        keys::check_settings(&setting)?;
        merge(&mut self.settings, setting);
        Ok(self)
    }

    /// Uses an encoder of your own, which the run file and the record show as `encoder.kind = name`.
    ///
    /// ```
    /// # use controlg::config::Config;
    /// use controlg::encoder::{Gcn, LayerSettings};
    ///
    /// let encoder = Gcn::new(LayerSettings { width: 24, ..LayerSettings::default() })?; // any `impl Encoder`
    /// let config = Config::for_data("my graph")?.custom_encoder("my-encoder", encoder).build()?;
    /// assert_eq!(config.encoder.width(), 24);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn custom_encoder(mut self, name: &str, encoder: impl Encoder + 'static) -> Self {
        self.custom.add_encoder(name, encoder);
        self.with("encoder.kind", name)
    }

    /// Adds an objective of your own to those that take part. To train it alone, clear the list first:
    /// `.objectives([])`.
    ///
    /// ```
    /// # use controlg::config::Config;
    /// # use controlg::{graph::Subgraph, rng::Stream, tensor::{Params, Tape, Var}};
    /// use controlg::objective::{HeadDims, LossInput, Objective, ViewSpec};
    ///
    /// /// L = mean_v ‖z_v‖² on the clean graph, without a head.
    /// #[derive(Clone)]
    /// struct Energy;
    ///
    /// impl Objective for Energy {
    ///     fn on_batch(&self, _: &Subgraph) -> controlg::Result<Box<dyn Objective>> {
    ///         Ok(Box::new(self.clone()))
    ///     }
    ///     fn init_head(&self, _: HeadDims, _: &mut Params, _: usize, _: &mut Stream) {}
    ///     fn views(&self) -> Vec<ViewSpec> {
    ///         vec![ViewSpec::default()]
    ///     }
    ///     fn loss<'a>(&'a self, tape: &mut Tape<'a>, input: LossInput<'a, '_>) -> Var {
    ///         tape.mean_row_dot(input.z[0], input.z[0])
    ///     }
    /// }
    ///
    /// let config = Config::for_data("my graph")?.objectives([]).custom_objective("energy", Energy).build()?;
    /// assert_eq!(config.objectives, ["energy"]);
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn custom_objective(mut self, name: &str, objective: impl Objective + 'static) -> Self {
        self.custom.add_objective(name, objective);
        let mut names = match self.settings.get("objectives") {
            Some(Value::Array(names)) => names.clone(),
            _ => OBJECTIVES.iter().map(|entry| entry.name.into()).collect(),
        };
        names.push(name.into());
        self.with("objectives", names)
    }

    /// Lets a coordinator of your own schedule the objectives; see [`Custom::add_coordinator`].
    ///
    /// ```
    /// # use controlg::config::Config;
    /// use controlg::coordinator::{Coordinator, Decision};
    ///
    /// /// Trains the first objective only.
    /// struct First;
    ///
    /// impl Coordinator for First {
    ///     fn next(&mut self) -> Decision {
    ///         Decision { objective: 0, ..Decision::default() }
    ///     }
    ///     fn save(&self) -> controlg::Result<String> {
    ///         Ok(String::new())
    ///     }
    ///     fn restore(&mut self, _: &str) -> controlg::Result<()> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let config = Config::for_data("my graph")?.custom_coordinator("first", |_objectives| First).build()?;
    /// assert_eq!((config.method.as_str(), config.warm_up_steps()), ("first", 0));
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn custom_coordinator<C: Coordinator + 'static>(
        mut self,
        name: &str,
        factory: impl Fn(&[String]) -> C + Send + Sync + 'static,
    ) -> Self {
        self.custom.add_coordinator(name, factory);
        self.with("method", name)
    }

    /// Fills in all other settings and checks them.
    ///
    /// ```
    /// # use controlg::config::Config;
    /// let error = Config::for_data("cora")?.epochs(0).build().unwrap_err();
    /// assert_eq!(error.to_string(), "train.epochs: found 0, expected 1 to 1000000");
    /// # Ok::<(), controlg::Error>(())
    /// ```
    pub fn build(&self) -> Result<Config> {
        Config::from_table_with(self.settings.clone(), &self.custom)
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        let inserted = table::insert(&mut self.settings, name, value.into());
        debug_assert!(inserted.is_ok(), "{name} is nested in a table");
        self
    }
}

impl TryFrom<&ConfigBuilder> for Config {
    type Error = Error;

    fn try_from(builder: &ConfigBuilder) -> Result<Config> {
        builder.build()
    }
}

impl TryFrom<ConfigBuilder> for Config {
    type Error = Error;

    fn try_from(builder: ConfigBuilder) -> Result<Config> {
        builder.build()
    }
}

impl From<&Config> for Config {
    fn from(config: &Config) -> Config {
        config.clone()
    }
}

/// A whole number as TOML; one beyond TOML's range becomes text, which no whole-number setting accepts.
fn whole(number: u64) -> Value {
    i64::try_from(number).map_or_else(|_| number.to_string().into(), Value::Integer)
}

fn name_of(choice: impl serde::Serialize) -> Value {
    Value::try_from(choice).expect("a unit variant serializes to its name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_setters_does_not_matter() {
        let before = Config::for_data("cora").unwrap().width(32).method(MethodKind::Grace);
        let after = Config::for_data("cora").unwrap().method(MethodKind::Grace).width(32);
        assert_eq!(before.build().unwrap(), after.build().unwrap());
    }

    #[test]
    fn builder_and_run_file_give_the_same_config() {
        let built = Config::for_data("cora").unwrap().seed(3).epochs(4).link_prediction().build().unwrap();
        let read = "data = 'cora'\nseed = 3\ntrain.epochs = 4\nedges = 'train'".parse().unwrap();
        assert_eq!(built, Config::from_table(read).unwrap());
        assert_eq!(Config::from(&built), built);
    }

    #[test]
    fn seeds_beyond_the_range_of_toml_are_rejected() {
        let error = Config::for_data("cora").unwrap().seed(u64::MAX).build().unwrap_err();
        assert!(error.to_string().starts_with("seed: found "), "{error}");
    }

    #[test]
    fn custom_names_must_be_new() {
        let objective = crate::objective::build("p_link", Table::new()).unwrap();
        let mut custom = Custom::default();
        custom.add_boxed_objective("p_par", objective);
        let table = Config::preset("cora");
        let error = Config::from_table_with(table, &custom).unwrap_err().to_string();
        assert_eq!(error, "custom objective: found p_par, expected a name that no built-in one has");
    }
}
