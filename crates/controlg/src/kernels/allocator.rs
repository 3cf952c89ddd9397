//! The memory allocator of a program that trains: it keeps little memory that is not in use.
//!
//! The C library's allocator keeps freed blocks for reuse, in two ways that cost a training run up to a third of its memory:
//!
//! - Blocks of up to 32 MB stay with the process, in pieces that new blocks often do not fit into.
//! - An aligned block never fits into a freed one of the same size, because its search allows for the alignment. Each dense
//!   product of the `gemm` crate allocates such blocks, and every thread piles up about 20 MB of them.

use std::alloc::{GlobalAlloc, Layout, System};

use super::memory::PAGE;

/// The system's allocator, without piles of aligned blocks. For `#[global_allocator]` of a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReusingAllocator;

/// Aligned blocks of at least this many bytes are aligned here.
const LARGE: usize = 1 << 14;
/// Alignment of every block of the system.
const PLAIN: usize = 2 * size_of::<usize>();

/// The layout of a plain block with room for an aligned one and for the address of the plain one before it.
fn plain(layout: Layout) -> Option<Layout> {
    if layout.align() <= PLAIN || layout.size() < LARGE {
        return None;
    }
    let size = layout.size().checked_add(layout.align())?.checked_add(PLAIN)?;
    Layout::from_size_align(size, PLAIN).ok()
}

/// A block that the system gave. Ends the process if it gave none: what asks for memory here cannot do without, and the
/// standard library would abort, which looks like a crash.
fn checked(place: *mut u8, size: usize) -> *mut u8 {
    if place.is_null() { out_of_memory(size) } else { place }
}

/// Ends the process with a message and the exit code of failures, without allocating.
#[cold]
fn out_of_memory(size: usize) -> ! {
    let mut digits = [0; 20];
    let (mut left, mut first) = (size, digits.len());
    while left > 0 || first == digits.len() {
        first -= 1;
        digits[first] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let (start, end) = (b"controlg: not enough memory: a block of ", b" bytes was refused\n");
    let mut line = [0; 96];
    let mut length = 0;
    for part in [&start[..], &digits[first..], end] {
        line[length..length + part.len()].copy_from_slice(part);
        length += part.len();
    }
    #[cfg(unix)]
    {
        unsafe extern "C" {
            fn write(file: i32, bytes: *const u8, count: usize) -> isize;
            fn _exit(code: i32) -> !;
        }
        // SAFETY: writes initialized bytes to the standard error stream and ends the process without running any code of it, so
        // no state matters.
        unsafe {
            write(2, line.as_ptr(), length);
            _exit(3)
        }
    }
    #[cfg(not(unix))]
    std::process::abort()
}

// SAFETY: blocks of the system are passed on unchanged. An aligned block lies within a plain block of the system, whose
// address is stored in the word before it; it is read back only for layouts that were served in this way.
unsafe impl GlobalAlloc for ReusingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(plain) = plain(layout) else {
            // SAFETY: the caller upholds the contract.
            return checked(unsafe { System.alloc(layout) }, layout.size());
        };
        // SAFETY: the size is not zero. The aligned block starts PLAIN to PLAIN + align bytes into the plain one, so it ends
        // within it and the word before it belongs to it; both addresses are multiples of PLAIN.
        unsafe {
            let start = checked(System.alloc(plain), plain.size());
            let aligned = start.add(PLAIN).add(start.add(PLAIN).align_offset(layout.align()));
            aligned.cast::<*mut u8>().sub(1).write(start);
            aligned
        }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        match plain(layout) {
            // SAFETY: the caller upholds the contract.
            None => unsafe { System.dealloc(place, layout) },
            // SAFETY: `alloc` stored the address of the plain block before the aligned one.
            Some(plain) => unsafe { System.dealloc(place.cast::<*mut u8>().sub(1).read(), plain) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if plain(layout).is_none() {
            // SAFETY: the caller upholds the contract. The system knows which memory is zero already.
            return checked(unsafe { System.alloc_zeroed(layout) }, layout.size());
        }
        // SAFETY: the caller upholds the contract, and the block has the size of the layout.
        unsafe {
            let place = self.alloc(layout);
            place.write_bytes(0, layout.size());
            place
        }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that the new size fits the alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if plain(layout).is_none() && plain(new).is_none() {
            // SAFETY: the caller upholds the contract. The system may move pages instead of bytes.
            return checked(unsafe { System.realloc(place, layout, size) }, size);
        }
        // SAFETY: both blocks have at least as many bytes as are copied, and they do not overlap.
        unsafe {
            let to = self.alloc(new);
            std::ptr::copy_nonoverlapping(place, to, layout.size().min(size));
            self.dealloc(place, layout);
            to
        }
    }
}

/// Makes the C library's allocator return every freed block of two megabytes or more to the operating system at once.
/// Training reuses its buffers, so it does not become slower. It concerns the whole process: only a program should call
/// this, at its start.
pub fn return_freed_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn mallopt(parameter: i32, value: i32) -> i32;
        }
        const M_TRIM_THRESHOLD: i32 = -1;
        const M_MMAP_THRESHOLD: i32 = -3;
        // SAFETY: both are documented parameters of mallopt, which may be called at any time. A failure has no effect.
        unsafe {
            mallopt(M_MMAP_THRESHOLD, PAGE as i32);
            mallopt(M_TRIM_THRESHOLD, 2 * PAGE as i32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_keep_their_contents() {
        for (size, align) in [(10, 8), (10, 64), (LARGE, 16), (LARGE, 64), (3 * LARGE + 1, 4096)] {
            let layout = Layout::from_size_align(size, align).unwrap();
            let larger = Layout::from_size_align(2 * size + LARGE, align).unwrap();
            // SAFETY: every block is written within its size, and freed once with its own layout.
            unsafe {
                let zeros = ReusingAllocator.alloc_zeroed(layout);
                assert!((0..size).all(|at| *zeros.add(at) == 0));
                ReusingAllocator.dealloc(zeros, layout);
                let block = ReusingAllocator.alloc(layout);
                assert_eq!(block as usize % align, 0);
                block.write_bytes(7, size);
                let block = ReusingAllocator.realloc(block, layout, larger.size());
                assert_eq!(block as usize % align, 0);
                assert!((0..size).all(|at| *block.add(at) == 7));
                block.write_bytes(9, larger.size());
                let block = ReusingAllocator.realloc(block, larger, size);
                assert!((0..size).all(|at| *block.add(at) == 9));
                ReusingAllocator.dealloc(block, layout);
            }
        }
    }
}
