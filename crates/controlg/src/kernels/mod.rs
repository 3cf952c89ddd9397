//! Bare loops: slices in, slices out.
