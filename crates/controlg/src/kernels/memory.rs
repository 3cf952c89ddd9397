//! Huge pages for large buffers.
//!
//! Sparse products read rows in random order. With 4 KB pages, most of these reads also miss the TLB; 2 MB pages avoid that.

/// Bytes of a huge page.
pub(super) const PAGE: usize = 1 << 21;

/// Asks the operating system to back a large buffer with huge pages. Call it before the buffer is first written. It is a hint:
/// failures are ignored.
pub fn prefer_large_pages<T>(buffer: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        let start = (buffer.as_mut_ptr() as usize).next_multiple_of(PAGE);
        let end = (buffer.as_mut_ptr() as usize + size_of_val(buffer)) / PAGE * PAGE;
        if end > start {
            unsafe extern "C" {
                fn madvise(start: *mut std::ffi::c_void, length: usize, advice: i32) -> i32;
            }
            const MADV_HUGEPAGE: i32 = 14;
            // SAFETY: the range consists of whole pages within the borrowed buffer. The advice does not change their contents,
            // and a failure has no effect.
            unsafe { madvise(start as *mut std::ffi::c_void, end - start, MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = buffer;
}

#[cfg(test)]
mod tests {
    #[test]
    fn contents_do_not_change() {
        for len in [0, 10, 3 << 20] {
            let mut buffer = vec![7u32; len];
            super::prefer_large_pages(&mut buffer);
            assert!(buffer.iter().all(|&x| x == 7));
        }
    }
}
