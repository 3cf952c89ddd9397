//! Buffers that kernels borrow for one call and give back, so that a steady state allocates nothing.

use super::memory::{PAGE, prefer_large_pages};
use std::sync::Mutex;

static FREE: Mutex<Vec<Vec<u64>>> = Mutex::new(Vec::new());

/// A number type that scratch can be viewed as.
pub trait Scratch: Copy + Default + Send + 'static {}
impl Scratch for f32 {}
impl Scratch for f64 {}
impl Scratch for u16 {}
impl Scratch for u32 {}
impl Scratch for usize {}

/// Lends a buffer of `len` numbers, 64-byte aligned, whose contents are whatever an earlier call left there. A large one lies in
/// large pages of its own: what is read from all over it would miss the table of small ones.
pub fn with<T: Scratch, R>(len: usize, work: impl FnOnce(&mut [T]) -> R) -> R {
    const LINE: usize = 64;
    const LARGE: usize = PAGE / 8;
    let bytes = len * size_of::<T>();
    let (align, room) = if bytes < LARGE { (LINE, bytes) } else { (PAGE, bytes.next_multiple_of(PAGE)) };
    let mut buffer = take((room + align).div_ceil(8));
    let start = buffer.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(align);
    // SAFETY: `skip < align`, so `len` numbers fit behind it; every bit pattern is a number of type T, and the words are
    // initialized.
    let slice = unsafe { std::slice::from_raw_parts_mut(start.add(skip).cast::<T>(), len) };
    let result = work(slice);
    give_back(buffer);
    result
}

/// The smallest free buffer that is large enough; else the largest, grown.
fn take(words: usize) -> Vec<u64> {
    let mut free = FREE.lock().unwrap_or_else(|broken| broken.into_inner());
    let fits = (0..free.len()).filter(|&i| free[i].len() >= words).min_by_key(|&i| free[i].len());
    let best = fits.or_else(|| (0..free.len()).max_by_key(|&i| free[i].len()));
    let mut buffer = best.map_or_else(Vec::new, |i| free.swap_remove(i));
    drop(free);
    if buffer.len() < words {
        // A new allocation rather than `resize`, which would copy contents that nobody wants.
        buffer = vec![0; words];
        prefer_large_pages(&mut buffer);
    }
    buffer
}

fn give_back(buffer: Vec<u64>) {
    FREE.lock().unwrap_or_else(|broken| broken.into_inner()).push(buffer);
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // copies and zeros are exact
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_nest_and_come_back() {
        with(10, |outer: &mut [f32]| {
            outer.fill(1.0);
            with(1000, |inner: &mut [f64]| {
                inner.fill(2.0);
                assert_eq!(inner.as_ptr() as usize % 64, 0);
            });
            assert!(outer.iter().all(|&x| x == 1.0));
        });
        assert!(with(0, |empty: &mut [u32]| empty.is_empty()));
        with(PAGE, |large: &mut [u16]| assert_eq!(large.as_ptr() as usize % PAGE, 0));
    }
}
