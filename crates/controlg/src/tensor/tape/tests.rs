use super::*;
use crate::rng::Stream;
use crate::tensor::Init;

/// One parameter, the row (2, 3).
fn row() -> (Params, ParamId) {
    let mut params = Params::new();
    let group = params.add_group("encoder");
    let id = params.add(group, "x", (1, 2), Init::Constant(0.0), &mut Stream::new(0, "init", "", 0));
    params.get_mut(id).copy_from_slice(&[2.0, 3.0]);
    (params, id)
}

#[test]
fn a_parameter_used_twice_gets_both_gradients() {
    let (params, id) = row();
    let (pool, mut grads) = (Pool::new(), Grads::new(&params));
    let mut tape = Tape::new(&params, &pool);
    let (a, b) = (tape.param(id), tape.param(id));
    let square = tape.mean_row_dot(a, b);
    assert_eq!(tape.scalar(square), 13.0);
    tape.backward(square, &mut grads);
    assert_eq!(grads.get(id), Some(&[4.0, 6.0][..]));
}

#[test]
fn detached_and_unrecorded_values_have_no_gradient() {
    let (params, id) = row();
    let (pool, mut grads) = (Pool::new(), Grads::new(&params));
    let mut tape = Tape::new(&params, &pool);
    let x = tape.param(id);
    let still = tape.detach(x);
    let quiet = tape.without_gradient(|tape| {
        let y = tape.param(id);
        tape.scale(y, 2.0)
    });
    let (one, two) = (tape.mean_row_dot(x, still), tape.mean_row_dot(x, quiet));
    let sum = tape.add(one, two);
    tape.backward(sum, &mut grads);
    // d/dx of x·(2, 3) + x·(4, 6)
    assert_eq!(grads.get(id), Some(&[6.0, 9.0][..]));
}

#[test]
fn buffers_return_to_the_pool_when_the_tape_ends_or_is_truncated() {
    let (params, id) = row();
    let pool = Pool::new();
    let mut tape = Tape::new(&params, &pool);
    let x = tape.param(id);
    let mark = tape.mark();
    let first = tape.scale(x, 2.0);
    let address = tape.value(first).as_ptr();
    tape.truncate(mark);
    let second = tape.scale(x, 3.0);
    assert_eq!(tape.value(second).as_ptr(), address);
    drop(tape);
    assert!(pool.idle_bytes() > 0);
}

#[test]
fn a_forward_only_tape_frees_released_values() {
    let (params, id) = row();
    let pool = Pool::new();
    let mut tape = Tape::forward_only(&params, &pool);
    let x = tape.param(id);
    let y = tape.scale(x, 2.0);
    let before = pool.idle_bytes();
    tape.release(y);
    assert!(pool.idle_bytes() > before);
    let mut tape = Tape::new(&params, &pool);
    let x = tape.param(id);
    let y = tape.scale(x, 2.0);
    tape.release(y);
    assert_eq!(tape.value(y), [4.0, 6.0]);
}
