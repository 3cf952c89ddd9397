//! Concatenating and slicing columns.

use crate::kernels::column_blocks::{ColumnBlock, copy_columns};
use crate::tensor::{Tape, Var};

impl<'a> Tape<'a> {
    /// Y = [X₁ | X₂ | …], side by side. Xᵢ: n×cᵢ, Y: n×Σcᵢ. dXᵢ are the columns of dY.
    ///
    /// # Panics
    /// If the list is empty or the numbers of rows differ.
    pub fn concat_columns(&mut self, parts: &[Var]) -> Var {
        let n = self.shape(parts[0]).0;
        assert!(parts.iter().all(|&part| self.shape(part).0 == n), "parts with the same number of rows");
        let cols = parts.iter().map(|&part| self.shape(part).1).sum();
        let mut out = self.pool().take(n * cols);
        let mut start = 0;
        let mut blocks = Vec::with_capacity(parts.len());
        for &part in parts {
            let width = self.shape(part).1;
            let to = ColumnBlock { cols, start };
            self.compute(|| copy_columns(width, whole(width), self.value(part), to, &mut out, false));
            blocks.push((part, width, to));
            start += width;
        }
        self.push((n, cols), out, parts, move |ctx, gradient| {
            for &(part, width, from) in &blocks {
                ctx.accumulate_grad_with(part, |dx, add| {
                    copy_columns(width, from, &gradient, whole(width), dx, add);
                });
            }
        })
    }

    /// Columns `start..start + width` of X. X: n×c. dX is zero in the other columns.
    pub fn slice_columns(&mut self, x: Var, start: usize, width: usize) -> Var {
        let (n, cols) = self.shape(x);
        let from = ColumnBlock { cols, start };
        let mut out = self.pool().take(n * width);
        self.compute(|| copy_columns(width, from, self.value(x), whole(width), &mut out, false));
        self.push((n, width), out, &[x], move |ctx, gradient| {
            ctx.accumulate_grad_with(x, |dx, add| {
                if !add {
                    dx.fill(0.0);
                }
                copy_columns(width, whole(width), &gradient, from, dx, true);
            });
        })
    }
}

fn whole(cols: usize) -> ColumnBlock {
    ColumnBlock { cols, start: 0 }
}
