//! Parts of a run that come from a list: an encoder, an objective, a mixing method.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::coordinator::MixerFactory;
use crate::encoder::Encoder;
use crate::objective::Objective;

/// The encoder of a run. It dereferences to [`Encoder`], so `config.encoder.width()` is its embedding width.
pub type EncoderConfig = Component<dyn Encoder>;

/// An objective of a run, not yet prepared for a graph.
pub type ObjectiveConfig = Component<dyn Objective>;

/// The mixing method of a run.
pub type MixerConfig = Component<MixerFactory>;

/// An implementation together with the settings it was built from.
///
/// The settings are parsed once, when the [`Config`](super::Config) is made. They are complete and in range, and
/// `config.toml`, the record and the hash show them as they are.
pub struct Component<T: ?Sized> {
    settings: toml::Table,
    implementation: Arc<T>,
}

impl<T: ?Sized> Component<T> {
    /// Pairs an implementation with its settings.
    pub fn new(settings: toml::Table, implementation: impl Into<Arc<T>>) -> Self {
        Component { settings, implementation: implementation.into() }
    }

    /// The settings as they appear in the run file.
    pub fn settings(&self) -> &toml::Table {
        &self.settings
    }

    /// A shared handle to the implementation.
    pub fn shared(&self) -> Arc<T> {
        Arc::clone(&self.implementation)
    }
}

impl<T: ?Sized> Deref for Component<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.implementation
    }
}

impl<T: ?Sized> Clone for Component<T> {
    fn clone(&self) -> Self {
        Component { settings: self.settings.clone(), implementation: self.shared() }
    }
}

impl<T: ?Sized> fmt::Debug for Component<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}

impl<T: ?Sized> PartialEq for Component<T> {
    fn eq(&self, other: &Self) -> bool {
        self.settings == other.settings
    }
}

impl<T: ?Sized> Serialize for Component<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.settings.serialize(serializer)
    }
}
