//! Products of relational encoders: one weight per direction of a relation.

use std::ops::Range;

use crate::Real;
use crate::graph::View;
use crate::kernels::{reduce, rows};
use crate::tensor::{Tape, Var};

impl<'a> Tape<'a> {
    /// The messages of all senders, T = [X_{S₁}·W₁; X_{S₂}·W₂; …], one block of rows per direction, with the rows S of the senders
    /// along it. X: n×k, W: k×c, T: Σ|S|×c. dX_S gets dT·Wᵀ of each of its directions, dW = X_Sᵀ·dT.
    pub fn messages(&mut self, x: Var, senders: &[Range<usize>], weights: &[Var]) -> Var {
        assert_eq!(senders.len(), weights.len(), "one weight per direction");
        let (n, k) = self.shape(x);
        let c = self.shape(weights[0]).1;
        assert!(weights.iter().all(|&w| self.shape(w) == (k, c)), "weights of the same shape");
        assert!(senders.iter().all(|range| range.end <= n), "rows below {n}");
        senders
            .iter()
            .zip(weights)
            .for_each(|(range, &w)| self.count_product(2 * range.len() * k * c, &[x, w]));
        let blocks: Vec<(Range<usize>, Range<usize>, Var)> = blocks_of(senders)
            .zip(senders)
            .zip(weights)
            .filter(|((_, range), _)| !range.is_empty())
            .map(|((block, range), &w)| (range.clone(), block, w))
            .collect();
        let total = senders.iter().map(Range::len).sum::<usize>();
        let mut out = self.pool().take(total * c);
        self.compute(|| {
            for (range, block, w) in &blocks {
                let from = &self.value(x)[of(range, k)];
                self.precision().nn(range.len(), k, c, from, self.value(*w), &mut out[of(block, c)], false);
            }
        });
        let inputs: Vec<Var> = std::iter::once(x).chain(weights.iter().copied()).collect();
        self.push((total, c), out, &inputs, move |ctx, gradient| {
            let (x_value, precision) = (ctx.value(x), ctx.precision);
            for (range, block, w) in &blocks {
                let (from, d) = (of(range, k), of(block, c));
                ctx.accumulate_grad_with(*w, |dw, add| {
                    precision.tn(k, range.len(), c, &x_value[from], &gradient[d], dw, add);
                });
            }
            let values: Vec<&[Real]> = blocks.iter().map(|(.., w)| ctx.value(*w)).collect();
            ctx.accumulate_grad_with(x, |dx, add| {
                if !add {
                    rows::fill(0.0, dx);
                }
                for ((range, block, _), w) in blocks.iter().zip(&values) {
                    precision.nt(range.len(), c, k, &gradient[of(block, c)], w, &mut dx[of(range, k)], true);
                }
            });
        })
    }

    /// The rows of all senders, one block per direction: [`Tape::messages`] without weights.
    pub fn sent(&mut self, x: Var, senders: &[Range<usize>]) -> Var {
        let ids: Vec<u32> = senders.iter().cloned().flatten().map(|node| node as u32).collect();
        self.gather(x, ids)
    }

    /// The operator of a view times a matrix with one row per node: S·H, or with a relational operator the sum of the means over the
    /// neighbors in every direction.
    pub fn propagate_nodes(&mut self, view: &View<'a>, h: Var) -> Var {
        let operator = view.operator();
        if operator.matrix().n_cols() == self.shape(h).0 {
            return self.propagate(operator, h);
        }
        let sent = self.sent(h, view.of().senders());
        self.propagate(operator, sent)
    }

    /// Y = Σᵢ A_{row,i}·Xᵢ of matrices of the same shape, with learned coefficients. A: r×m. dXᵢ = A_{row,i}·dY,
    /// dA_{row,i} = ⟨Xᵢ, dY⟩.
    pub fn combine(&mut self, coefficients: Var, row: usize, bases: &[Var]) -> Var {
        let (n_rows, m) = self.shape(coefficients);
        let shape = self.shape(bases[0]);
        assert!(row < n_rows && m == bases.len(), "one coefficient per matrix");
        assert!(bases.iter().all(|&base| self.shape(base) == shape), "matrices of the same shape");
        let mut out = self.pool().zeros(shape.0 * shape.1);
        self.compute(|| {
            for (at, &base) in bases.iter().enumerate() {
                rows::axpy(self.value(coefficients)[row * m + at], self.value(base), &mut out);
            }
        });
        let bases = bases.to_vec();
        let inputs: Vec<Var> = std::iter::once(coefficients).chain(bases.iter().copied()).collect();
        self.push(shape, out, &inputs, move |ctx, gradient| {
            let factors = ctx.value(coefficients);
            let values: Vec<&[Real]> = bases.iter().map(|&base| ctx.value(base)).collect();
            for (at, &base) in bases.iter().enumerate() {
                ctx.accumulate_grad_with(base, |slot, add| {
                    if !add {
                        rows::fill(0.0, slot);
                    }
                    rows::axpy(factors[row * m + at], &gradient, slot);
                });
            }
            ctx.accumulate_grad_with(coefficients, |slot, add| {
                if !add {
                    rows::fill(0.0, slot);
                }
                for (at, value) in values.iter().enumerate() {
                    slot[row * m + at] += reduce::dot(value, &gradient) as Real;
                }
            });
        })
    }
}

/// The block of messages of each direction.
fn blocks_of(senders: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> + '_ {
    senders.iter().scan(0, |start, range| {
        let block = *start..*start + range.len();
        *start = block.end;
        Some(block)
    })
}

/// The elements of some rows.
fn of(rows: &Range<usize>, width: usize) -> Range<usize> {
    rows.start * width..rows.end * width
}
