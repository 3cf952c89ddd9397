//! A small reverse-mode tape over row-major matrices.
//!
//! [`Params`] hold what is learned, in flat groups; a [`Tape`] records one computation on them, op by op, and
//! gives [`Grads`]; [`AdamW`] moves the parameters. Ops are methods of [`Tape`], one function each with its
//! derivative beside it, grouped by family in `ops/`. Buffers come from a [`Pool`] and go back to it.
//!
//! ```
//! use controlg::rng::Stream;
//! use controlg::tensor::{Activation, AdamW, Grads, Init, Params, Pool, Settings, Tape};
//!
//! let mut stream = Stream::new(0, "init", "example", 0);
//! let mut params = Params::new();
//! let head = params.add_group("head");
//! let weight = params.add(head, "weight", (2, 3), Init::XavierUniform, &mut stream);
//! let bias = params.add(head, "bias", (1, 3), Init::Constant(0.0), &mut stream);
//!
//! let (pool, mut grads) = (Pool::new(), Grads::new(&params));
//! let mut optimizer = AdamW::new(&params, Settings { rate: 0.1, ..Settings::default() });
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

mod ops;
mod optim;
mod params;
mod pool;
mod tape;

pub use crate::kernels::norm::Moments;
pub use ops::*;
pub use optim::{AdamW, Decay, OptimizerSettings, Schedule};
pub use params::{Grads, Group, Init, ParamEntry, ParamId, Params};
pub use pool::{Buffer, Pool, Pooled, Shelf};
pub(crate) use pool::{LARGE, size_class};
pub use tape::{Mark, Tape, Var};
