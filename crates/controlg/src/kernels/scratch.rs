//! Scratch buffers that are reused between kernel calls, so that training does not allocate in its steady state.

use super::memory::{PAGE, prefer_large_pages};
use std::sync::Mutex;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Buffers of at least this many bytes use huge pages.
const LARGE: usize = PAGE / 8;

static FREE: Mutex<Vec<Vec<u64>>> = Mutex::new(Vec::new());

/// An element type of scratch buffers: any bits are a valid value. Sealed, because [`with`] relies on that.
pub trait Scratch: sealed::AnyBits + Copy + Default + Send + Sync + 'static {}
impl<T: sealed::AnyBits + Copy + Default + Send + Sync + 'static> Scratch for T {}

mod sealed {
    pub trait AnyBits {}
    impl AnyBits for f32 {}
    impl AnyBits for f64 {}
    impl AnyBits for u16 {}
    impl AnyBits for u32 {}
    impl AnyBits for usize {}
}

/// Calls `work` with a buffer of `len` numbers with arbitrary contents, aligned to 64 bytes. Large buffers use huge pages, which
/// avoids TLB misses on random access.
pub fn with<T: Scratch, R>(len: usize, work: impl FnOnce(&mut [T]) -> R) -> R {
    // A size that wraps around would give a slice longer than its buffer.
    let bytes = len.checked_mul(size_of::<T>()).expect("a buffer that fits into memory");
    let (align, room) = if bytes < LARGE { (LINE, bytes) } else { (PAGE, resident_bytes(bytes)) };
    let mut buffer = take(room.checked_add(align).expect("a buffer that fits into memory").div_ceil(8));
    let start = buffer.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(align);
    // SAFETY: `skip < align`, so `len` numbers fit behind it. The words are initialized, and every bit pattern is a valid T.
    let slice = unsafe { std::slice::from_raw_parts_mut(start.add(skip).cast::<T>(), len) };
    let result = work(slice);
    give_back(buffer);
    result
}

/// Bytes of memory behind a buffer of `bytes` bytes.
pub fn resident_bytes(bytes: usize) -> usize {
    if bytes < LARGE {
        bytes
    } else {
        bytes.checked_next_multiple_of(PAGE).expect("a size that fits into memory")
    }
}

/// Returns all free buffers to the system.
pub fn release() {
    FREE.lock().unwrap_or_else(|broken| broken.into_inner()).clear();
}

/// The smallest free buffer that is large enough. If there is none, the largest is replaced by a larger one.
fn take(words: usize) -> Vec<u64> {
    let mut free = FREE.lock().unwrap_or_else(|broken| broken.into_inner());
    let fits = (0..free.len()).filter(|&i| free[i].len() >= words).min_by_key(|&i| free[i].len());
    let best = fits.or_else(|| (0..free.len()).max_by_key(|&i| free[i].len()));
    let mut buffer = best.map_or_else(Vec::new, |i| free.swap_remove(i));
    drop(free);
    if buffer.len() < words {
        // A new allocation: `resize` would copy the old contents.
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
    fn buffers_are_aligned_and_can_be_nested() {
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
