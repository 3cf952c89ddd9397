//! Parameters in groups of named matrices, and their gradients.
//!
//! Group 0 is the encoder; every head has its own. A group is one flat slice, so an optimizer step and an inner product of
//! gradients are single passes over memory.

use crate::Real;
use crate::kernels::rows;
use crate::rng::Stream;

/// All parameters of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    groups: Vec<Group>,
}

/// The parameters of one part of the model: the encoder or a head.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    name: String,
    entries: Vec<ParamEntry>,
    data: Vec<Real>,
}

/// A matrix and its position in its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamEntry {
    /// Its name within the group.
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    offset: usize,
}

/// Identifies a matrix of [`Params`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamId {
    /// The group it belongs to.
    pub group: usize,
    /// Its index within the group, in the order of declaration.
    pub entry: usize,
}

/// The initialization of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// The same value everywhere.
    Constant(f64),
    /// Uniform in ±√(6 / (rows + cols)), after Glorot and Bengio (2010).
    XavierUniform,
    /// Uniform in plus or minus this bound.
    Uniform(f64),
    /// Normal with mean 0 and this standard deviation.
    Normal(f64),
}

impl Init {
    /// Xavier normal with a gain of √2 for a matrix whose fan-in and fan-out sum to `fans` (Glorot and Bengio, 2010).
    pub fn xavier_normal(fans: usize) -> Init {
        Init::Normal(2.0 / (fans as f64).sqrt())
    }
}

impl Params {
    /// No parameters.
    pub fn new() -> Self {
        Params::default()
    }

    /// Adds an empty group and returns its index.
    pub fn add_group(&mut self, name: &str) -> usize {
        self.groups.push(Group { name: name.to_owned(), entries: Vec::new(), data: Vec::new() });
        self.groups.len() - 1
    }

    /// Adds a matrix to a group and initializes it.
    pub fn add(
        &mut self,
        group: usize,
        name: &str,
        (rows, cols): (usize, usize),
        init: Init,
        stream: &mut Stream,
    ) -> ParamId {
        let to = &mut self.groups[group];
        debug_assert!(to.entries.iter().all(|entry| entry.name != name), "{name} is declared twice");
        let offset = to.data.len();
        let xavier = (6.0 / (rows + cols) as f64).sqrt();
        let uniform = |stream: &mut Stream, bound: f64| (2.0 * stream.uniform() - 1.0) * bound;
        to.data.extend((0..rows * cols).map(|_| {
            let number = match init {
                Init::Constant(value) => value,
                Init::XavierUniform => uniform(stream, xavier),
                Init::Uniform(bound) => uniform(stream, bound),
                Init::Normal(deviation) => stream.normal() * deviation,
            };
            number as Real
        }));
        to.entries.push(ParamEntry { name: name.to_owned(), rows, cols, offset });
        ParamId { group, entry: to.entries.len() - 1 }
    }

    /// All groups, the encoder first.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// One group, mutable.
    pub fn group_mut(&mut self, group: usize) -> &mut Group {
        &mut self.groups[group]
    }

    /// The shape of a matrix.
    pub fn shape(&self, id: ParamId) -> (usize, usize) {
        let entry = &self.groups[id.group].entries[id.entry];
        (entry.rows, entry.cols)
    }

    /// The values of a matrix, row-major.
    pub fn get(&self, id: ParamId) -> &[Real] {
        let group = &self.groups[id.group];
        &group.data[group.entries[id.entry].span()]
    }

    /// The values of a matrix, mutable.
    pub fn get_mut(&mut self, id: ParamId) -> &mut [Real] {
        let group = &mut self.groups[id.group];
        &mut group.data[group.entries[id.entry].span()]
    }

    /// Exponential moving average of a target network: to ← keep·to + (1 − keep)·from.
    ///
    /// # Panics
    /// If the groups differ in size.
    pub fn blend(&mut self, to: usize, from: usize, keep: f64) {
        assert_eq!(self.groups[to].data.len(), self.groups[from].data.len(), "groups of the same shape");
        let source = std::mem::take(&mut self.groups[from].data);
        let (keep, take) = (keep as Real, (1.0 - keep) as Real);
        for (t, &s) in self.groups[to].data.iter_mut().zip(&source) {
            *t = keep * *t + take * s;
        }
        self.groups[from].data = source;
    }

    /// Number of values in all groups.
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.data.len()).sum()
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Group {
    /// Its name: `encoder` or that of an objective.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its matrices in the order of declaration.
    pub fn entries(&self) -> &[ParamEntry] {
        &self.entries
    }

    /// All values, matrix after matrix.
    pub fn data(&self) -> &[Real] {
        &self.data
    }

    /// All values, mutable.
    pub fn data_mut(&mut self) -> &mut [Real] {
        &mut self.data
    }
}

impl ParamEntry {
    /// The range of its values in the group's flat slice.
    pub fn span(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.rows * self.cols
    }
}

/// Gradients in the layout of [`Params`], reused from step to step.
///
/// A group that no backward pass has reached since [`Grads::reset`] has no gradient, and optimizers skip it.
#[derive(Clone, Debug)]
pub struct Grads {
    groups: Vec<GradGroup>,
}

#[derive(Clone, Debug)]
struct GradGroup {
    data: Vec<Real>,
    spans: Vec<std::ops::Range<usize>>,
    /// Which entries hold a gradient; the others hold stale values.
    reached: Vec<bool>,
}

impl Grads {
    /// Gradients for these parameters, all unset.
    pub fn new(params: &Params) -> Self {
        let group = |group: &Group| GradGroup {
            data: vec![0.0; group.data.len()],
            spans: group.entries.iter().map(ParamEntry::span).collect(),
            reached: vec![false; group.entries.len()],
        };
        Grads { groups: params.groups.iter().map(group).collect() }
    }

    /// Unsets all gradients.
    pub fn reset(&mut self) {
        self.groups.iter_mut().for_each(|group| group.reached.fill(false));
    }

    /// The flat gradient of a group; `None` if no backward pass has reached it.
    pub fn group(&self, group: usize) -> Option<&[Real]> {
        let group = &self.groups[group];
        group.reached.contains(&true).then_some(&group.data[..])
    }

    /// The flat gradient of a group, mutable; `None` if no backward pass has reached it.
    pub fn group_mut(&mut self, group: usize) -> Option<&mut [Real]> {
        let group = &mut self.groups[group];
        group.reached.contains(&true).then_some(&mut group.data[..])
    }

    /// Sets the flat gradient of a group.
    pub fn set_group(&mut self, group: usize, gradient: &[Real]) {
        let group = &mut self.groups[group];
        group.data.copy_from_slice(gradient);
        group.reached.fill(true);
    }

    /// Moves the flat gradient of a group into `into`, which must have the same length, by swapping buffers. Writes zeros
    /// if no backward pass has reached the group.
    pub fn take_group(&mut self, group: usize, into: &mut Vec<Real>) {
        let group = &mut self.groups[group];
        assert_eq!(group.data.len(), into.len(), "a gradient of the same length");
        if group.reached.contains(&true) {
            std::mem::swap(&mut group.data, into);
        } else {
            into.fill(0.0);
        }
        group.reached.fill(false);
    }

    /// Copies the flat gradient of a group and unsets it. If no backward pass has reached the group, writes zeros and returns
    /// false.
    pub fn unload_group(&mut self, group: usize, into: &mut [Real]) -> bool {
        let group = &mut self.groups[group];
        let reached = group.reached.contains(&true);
        if reached {
            into.copy_from_slice(&group.data);
        } else {
            into.fill(0.0);
        }
        group.reached.fill(false);
        reached
    }

    /// Sets the flat gradient of a group to a weighted sum of gradients.
    pub fn combine_group(&mut self, group: usize, weights: &[f64], gradients: &[Vec<Real>]) {
        let group = &mut self.groups[group];
        rows::combine(weights, gradients, &mut group.data);
        group.reached.fill(true);
    }

    /// The gradient of one matrix; `None` if no backward pass has reached it.
    pub fn get(&self, id: ParamId) -> Option<&[Real]> {
        let group = &self.groups[id.group];
        group.reached[id.entry].then(|| &group.data[group.spans[id.entry].clone()])
    }

    /// Number of groups.
    pub fn n_groups(&self) -> usize {
        self.groups.len()
    }

    /// The gradient of one matrix, to be written, and whether to add to what is there.
    pub(super) fn slot(&mut self, id: ParamId) -> (&mut [Real], bool) {
        let group = &mut self.groups[id.group];
        let add = std::mem::replace(&mut group.reached[id.entry], true);
        (&mut group.data[group.spans[id.entry].clone()], add)
    }

    /// Ends a backward pass: zeroes unreached matrices of reached groups.
    pub(super) fn complete(&mut self) {
        for group in self.groups.iter_mut().filter(|group| group.reached.contains(&true)) {
            for (span, reached) in group.spans.iter().zip(&mut group.reached) {
                if !std::mem::replace(reached, true) {
                    group.data[span.clone()].fill(0.0);
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and small sums are exact
mod tests {
    use super::*;

    fn two_groups() -> Params {
        let mut params = Params::new();
        let mut stream = Stream::new(0, "init", "", 0);
        let encoder = params.add_group("encoder");
        let head = params.add_group("head");
        params.add(encoder, "weight", (3, 5), Init::XavierUniform, &mut stream);
        params.add(encoder, "slope", (1, 1), Init::Constant(0.25), &mut stream);
        params.add(head, "bias", (1, 2), Init::Constant(0.0), &mut stream);
        params
    }

    #[test]
    fn matrices_are_contiguous_in_their_group() {
        let params = two_groups();
        let slope = ParamId { group: 0, entry: 1 };
        assert_eq!(params.get(slope), [0.25]);
        assert_eq!(params.groups()[0].data().len(), 16);
        let bound = (6.0f64 / 8.0).sqrt() as Real;
        assert!(params.get(ParamId { group: 0, entry: 0 }).iter().all(|w| w.abs() <= bound));
    }

    #[test]
    fn a_backward_pass_completes_the_groups_it_reached() {
        let params = two_groups();
        let mut grads = Grads::new(&params);
        grads.set_group(0, &[7.0; 16]);
        grads.reset();
        let (slot, add) = grads.slot(ParamId { group: 0, entry: 1 });
        assert!(!add);
        slot[0] = 3.0;
        grads.complete();
        assert_eq!(grads.group(0).map(|g| (g[0], g[15])), Some((0.0, 3.0)));
        assert!(grads.group(1).is_none());
    }

    #[test]
    fn gradients_are_taken_and_combined() {
        let params = two_groups();
        let mut grads = Grads::new(&params);
        let mut taken = [vec![9.0; 2], vec![9.0; 2], vec![9.0; 2]];
        for (value, into) in [1.0, 3.0].into_iter().zip(&mut taken) {
            grads.set_group(1, &[value; 2]);
            grads.take_group(1, into);
        }
        grads.take_group(1, &mut taken[2]);
        assert_eq!(taken, [vec![1.0; 2], vec![3.0; 2], vec![0.0; 2]]);
        assert!(grads.group(1).is_none());
        grads.combine_group(1, &[2.0, 0.5, 7.0], &taken);
        assert_eq!(grads.group(1), Some(&[3.5, 3.5][..]));
    }

    #[test]
    fn blending_moves_one_group_towards_the_other() {
        let mut params = two_groups();
        let copy = params.add_group("target");
        params.add(copy, "all", (1, 16), Init::Constant(1.0), &mut Stream::new(0, "init", "", 0));
        params.group_mut(0).data_mut().fill(3.0);
        params.blend(copy, 0, 0.5);
        assert!(params.groups()[copy].data().iter().all(|&x| x == 2.0));
    }
}
