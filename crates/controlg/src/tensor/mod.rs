//! Reverse-mode automatic differentiation over row-major matrices.
//!
//! [`Params`] hold the learned values in flat groups; a [`Tape`] records one computation on them op by op and
//! differentiates it into [`Grads`]; [`AdamW`] updates the parameters. Ops are methods of [`Tape`], one function each with
//! its derivative beside it, grouped by family in `ops/`. Buffers come from a [`Pool`] and return to it.
//!
//! ```
//! use controlg::rng::Stream;
//! use controlg::tensor::{Activation, AdamW, Grads, Init, Params, OptimizerSettings, Pool, Tape};
//!
//! let mut stream = Stream::new(0, "init", "example", 0);
//! let mut params = Params::new();
//! let head = params.add_group("head");
//! let weight = params.add(head, "weight", (2, 3), Init::XavierUniform, &mut stream);
//! let bias = params.add(head, "bias", (1, 3), Init::Constant(0.0), &mut stream);
//!
//! let (pool, mut grads) = (Pool::new(), Grads::new(&params));
//! let mut optimizer = AdamW::new(&params, OptimizerSettings { rate: 0.1, ..OptimizerSettings::default() });
//! let mut losses = Vec::new();
//! for _ in 0..20 {
//!     let mut tape = Tape::new(&params, &pool);
//!     let x = tape.constant(2, 2, vec![1.0, 0.0, 0.0, 1.0]);
//!     let (w, b) = (tape.param(weight), tape.param(bias));
//!     let logits = tape.linear(x, w, Some(b), Activation::Identity);
//!     let loss = tape.cross_entropy(logits, vec![0, 2]);
//!     losses.push(tape.scalar(loss));
//!     grads.reset();
//!     tape.backward_last(loss, &mut grads);
//!     optimizer.step(&mut params, &mut grads);
//! }
//! assert!(losses[19] < 0.5 * losses[0]);
//! ```

mod backward;
mod ops;
mod optim;
mod params;
mod pool;
mod tape;

pub(crate) use crate::kernels::norm::Moments;
pub use crate::kernels::precision::Precision;
pub use ops::*;
pub use optim::{AdamW, Decay, OptimizerSettings, Schedule};
pub use params::{Grads, Group, Init, ParamEntry, ParamId, Params};
pub use pool::{Buffer, FreeList, Pool, Pooled};
pub use tape::{Mark, Tape, Var};
