//! A run on disk: its folder, its checkpoints and the safetensors files in it.

pub(super) mod checkpoint;
pub(super) mod folder;
pub(super) mod safetensors;
