//! Gradients against central differences. With `--features f64` every entry must agree to 1e-5. In f32, a step large
//! enough to measure also crosses kinks, so only three quarters of the entries must agree, within the precision of f32.

use controlg::Real;
use controlg::tensor::{Grads, Params, Pool, Tape, Var};

use crate::common::numbers;

pub(crate) const WIDE: bool = cfg!(feature = "f64");

/// Leaks a value, so that the tape can borrow it for `'static`.
pub(crate) fn forever<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// The function to differentiate with respect to all parameters; its inputs are those of group 0.
pub(crate) type Function<'f> = &'f dyn Fn(&mut Tape<'static>, &[Var]) -> Var;

/// The output if it is a scalar, else its dot product with fixed numbers.
fn loss(tape: &mut Tape<'static>, function: Function<'_>) -> Var {
    let inputs = tape.group(0);
    let out = function(tape, &inputs);
    let (rows, cols) = tape.shape(out);
    if (rows, cols) == (1, 1) {
        return out;
    }
    let weights = tape.constant(rows, cols, numbers(99, rows * cols));
    tape.mean_row_dot(out, weights)
}

pub(crate) fn value(params: &Params, function: Function<'_>) -> f64 {
    let mut tape = Tape::forward_only(forever(params.clone()), forever(Pool::new()));
    let out = loss(&mut tape, function);
    tape.scalar(out)
}

/// The concatenated gradients of all groups; zeros for groups without a gradient.
pub(crate) fn flat(params: &Params, grads: &Grads) -> Vec<Real> {
    let group = |at: usize| {
        let idle = || vec![0.0; params.groups()[at].data().len()];
        grads.group(at).map_or_else(idle, <[Real]>::to_vec)
    };
    (0..grads.n_groups()).flat_map(group).collect()
}

/// Compares the gradient of every parameter with a central difference.
#[allow(dead_code)] // not every suite trains all parameters
pub(crate) fn check_params(name: &str, params: &Params, function: Function<'_>) {
    check_groups(name, params, params.groups().len(), function);
}

/// [`check_params`] for the first groups; the others must not have a gradient.
pub(crate) fn check_groups(name: &str, params: &Params, n_groups: usize, function: Function<'_>) {
    let shared: &'static Params = forever(params.clone());
    let mut grads = Grads::new(shared);
    let mut tape = Tape::new(shared, forever(Pool::new()));
    let out = loss(&mut tape, function);
    assert!(tape.scalar(out).is_finite(), "{name}: value");
    tape.backward(out, &mut grads);
    let once = flat(shared, &grads);
    // A second pass accumulates, and `backward_last` gives the gradient of the first.
    tape.backward(out, &mut grads);
    let twice = flat(shared, &grads);
    assert_near(name, &once.iter().map(|g| f64::from(2.0 * g)).collect::<Vec<_>>(), &twice, 1e-6);
    grads.reset();
    tape.backward_last(out, &mut grads);
    assert_eq!(once, flat(shared, &grads), "{name}: last pass");

    check_shape_pass(name, shared, function);

    let n_groups_all = params.groups().len();
    assert!(
        (n_groups..n_groups_all).all(|group| grads.group(group).is_none()),
        "{name}: unexpected gradient"
    );
    let n_trained: usize = params.groups()[..n_groups].iter().map(|group| group.data().len()).sum();
    let once = &once[..n_trained];
    let expected = central_differences(params, n_groups, function);
    if WIDE {
        return assert_near(name, &expected, once, 1e-5);
    }
    let scale = expected.iter().fold(1e-3f64, |top, x| top.max(x.abs()));
    let mut errors: Vec<f64> = expected
        .iter()
        .zip(once)
        .map(|(e, &g)| (e - f64::from(g)).abs() / e.abs().max(0.1 * scale))
        .collect();
    errors.sort_by(f64::total_cmp);
    let typical = errors[errors.len() * 3 / 4];
    assert!(typical < 0.03, "{name}: relative errors up to {typical}");
}

/// A pass over shapes takes the buffers of a real one and computes nothing.
fn check_shape_pass(name: &str, params: &'static Params, function: Function<'_>) {
    let [real, shapes] = [Pool::new(), Pool::shape_only()].map(|pool| {
        let pool: &'static Pool = forever(pool);
        let mut grads = Grads::new(params);
        let mut tape = Tape::new(params, pool);
        let out = loss(&mut tape, function);
        tape.backward(out, &mut grads);
        let live = pool.live_bytes();
        tape.backward_last(out, &mut grads);
        if pool.is_shape_only() {
            assert!(
                flat(params, &grads).iter().all(|&x| x == 0.0),
                "{name}: a shape pass computes something"
            );
        }
        [live, pool.live_bytes(), pool.peak_bytes()]
    });
    assert_eq!(real, shapes, "{name}: bytes of a real pass and of a shape pass");
}

fn central_differences(params: &Params, n_groups: usize, function: Function<'_>) -> Vec<f64> {
    let step = if WIDE { 1e-6 } else { 1e-3 };
    let mut moved = params.clone();
    let mut differences = Vec::with_capacity(params.len());
    for group in 0..n_groups {
        for i in 0..params.groups()[group].data().len() {
            let center = f64::from(params.groups()[group].data()[i]);
            let mut at = |x: f64| {
                moved.group_mut(group).data_mut()[i] = x as Real;
                (f64::from(x as Real), value(&moved, function))
            };
            let ((high, above), (low, below)) = (at(center + step), at(center - step));
            moved.group_mut(group).data_mut()[i] = center as Real;
            differences.push((above - below) / (high - low));
        }
    }
    differences
}

/// Compares entries relative to their size or to a tenth of the largest.
pub(crate) fn assert_near(name: &str, expected: &[f64], found: &[Real], bound: f64) {
    let scale = expected.iter().fold(0.0f64, |top, x| top.max(x.abs())).max(1e-3);
    for (i, (&e, &f)) in expected.iter().zip(found).enumerate() {
        let error = (e - f64::from(f)).abs() / e.abs().max(0.1 * scale);
        assert!(error < bound, "{name}: entry {i}: expected {e}, found {f}, relative error {error:.2e}");
    }
}
