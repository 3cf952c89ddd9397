//! The matrix unit itself: whether it may be used, its set-up, and the one loop that runs on it.
//!
//! Written in assembly because the compiler's own names for these instructions are not stable yet.

use std::arch::asm;
use std::sync::OnceLock;

/// Rows of a tile, and its columns of 32 bits.
pub(super) const SIDE: usize = 16;
/// Numbers of the inner size that one step sums: a 32-bit column holds two.
pub(super) const DEPTH: usize = 2 * SIDE;
/// Rows and columns of C that are computed at a time: two tiles each way, so that every tile is used twice.
pub(super) const EDGE: usize = 2 * SIDE;
/// Numbers in a tile.
pub(super) const TILE: usize = SIDE * DEPTH;
/// Parts of a number.
pub(super) const PARTS: usize = 3;
/// Numbers of a factor in one step: two tiles of the first parts, two of the second, two of the third.
pub(super) const STEP: usize = PARTS * 2 * TILE;

/// Whether this processor has the unit and the system lets this process use it.
pub(in super::super) fn able() -> bool {
    static ABLE: OnceLock<bool> = OnceLock::new();
    *ABLE.get_or_init(|| built_in() && granted())
}

fn built_in() -> bool {
    // Bits of leaf 7: the tiles, and their products of bf16.
    const TILES: u32 = 1 << 24;
    const PRODUCTS: u32 = 1 << 22;
    // The features that are asked for besides say that the leaf is there.
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && std::arch::x86_64::__cpuid_count(7, 0).edx & (TILES | PRODUCTS) == TILES | PRODUCTS
}

/// Linux gives the tiles' 8 KB of state to those who ask for it.
fn granted() -> bool {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::c_long;
        unsafe extern "C" {
            fn syscall(number: c_long, ...) -> c_long;
        }
        const ARCH_PRCTL: c_long = 158;
        const REQUEST_STATE: c_long = 0x1023;
        const TILE_DATA: c_long = 18;
        // SAFETY: a request that takes two numbers and changes nothing but what this process may use.
        unsafe { syscall(ARCH_PRCTL, REQUEST_STATE, TILE_DATA) == 0 }
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// This thread's unit, set up for full tiles; given back when it goes out of use.
pub(super) struct Unit(());

impl Unit {
    pub(super) fn new() -> Self {
        assert!(able(), "a processor with the unit");
        #[repr(align(64))]
        struct Shape([u8; 64]);
        let mut shape = Shape([0; 64]);
        shape.0[0] = 1;
        for tile in 0..8 {
            shape.0[16 + 2 * tile] = (4 * SIDE) as u8; // bytes a row
            shape.0[48 + tile] = SIDE as u8;
        }
        // SAFETY: the unit is there, and the 64 bytes are a shape that it has.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &shape, options(nostack, readonly)) };
        Unit(())
    }

    /// C = A·B for a strip of A and one of B as `pack` leaves them, of which `rows` rows and `columns` columns count;
    /// rows of C are `stride` apart.
    pub(super) fn multiply(
        &self,
        a: &[u16],
        b: &[u16],
        rows: usize,
        columns: usize,
        c: &mut [f32],
        stride: usize,
        add: bool,
    ) {
        assert!(a.len() == b.len() && a.len().is_multiple_of(STEP), "strips of the same steps");
        if rows == EDGE && columns == EDGE {
            assert!(c.len() >= (EDGE - 1) * stride + EDGE, "rows of C");
            // SAFETY: the strips have that many steps, and C holds all that is written.
            return unsafe { self.full(a.len() / STEP, a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), stride, add) };
        }
        // At the end of C: a whole block aside, of which the part that exists is taken.
        #[repr(align(64))]
        struct SpillTile([f32; EDGE * EDGE]);
        let mut aside = SpillTile([0.0; EDGE * EDGE]);
        if add {
            for (aside, c) in aside.0.chunks_exact_mut(EDGE).zip(c.chunks(stride)).take(rows) {
                aside[..columns].copy_from_slice(&c[..columns]);
            }
        }
        // SAFETY: as above.
        unsafe { self.full(a.len() / STEP, a.as_ptr(), b.as_ptr(), aside.0.as_mut_ptr(), EDGE, add) };
        for (c, aside) in c.chunks_mut(stride).zip(aside.0.chunks_exact(EDGE)).take(rows) {
            c[..columns].copy_from_slice(&aside[..columns]);
        }
    }

    /// The loop over the steps, with the four tiles of C in tmm0 to tmm3, two of A in tmm4 and tmm5, two of B in tmm6 and
    /// tmm7. Loads stand between the products that hide them.
    ///
    /// # Safety
    /// `a` and `b` hold `steps` steps; `c` holds 32 rows of 32 numbers, `stride` apart.
    #[inline(always)]
    unsafe fn full(&self, steps: usize, a: *const u16, b: *const u16, c: *mut f32, stride: usize, add: bool) {
        // SAFETY: the tiles that are read and written lie within what the caller promises; `self` says that the unit is
        // set up on this thread, and nobody but this loop uses its tiles.
        unsafe {
            asm!(
                "test {add:e}, {add:e}",
                "jz 2f",
                "tileloadd tmm0, [{c} + {stride}]",
                "tileloadd tmm1, [{c} + {stride} + 64]",
                "tileloadd tmm2, [{low} + {stride}]",
                "tileloadd tmm3, [{low} + {stride} + 64]",
                "jmp 3f",
                "2:",
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "3:",
                "test {steps}, {steps}",
                "jz 5f",
                "4:",
                // A₁B₁
                "tileloadd tmm4, [{a} + {line}]",
                "tileloadd tmm6, [{b} + {line}]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{b} + {line} + 1024]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tileloadd tmm5, [{a} + {line} + 1024]",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tileloadd tmm4, [{a} + {line} + 2048]",
                "tdpbf16ps tmm3, tmm5, tmm7",
                // A₂B₁
                "tileloadd tmm5, [{a} + {line} + 3072]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tileloadd tmm4, [{a} + {line} + 4096]",
                "tdpbf16ps tmm3, tmm5, tmm7",
                // A₃B₁
                "tileloadd tmm5, [{a} + {line} + 5120]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tileloadd tmm6, [{b} + {line} + 2048]",
                "tdpbf16ps tmm3, tmm5, tmm7",
                // A₂B₂
                "tileloadd tmm4, [{a} + {line} + 2048]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{b} + {line} + 3072]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tileloadd tmm5, [{a} + {line} + 3072]",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tileloadd tmm4, [{a} + {line}]",
                "tdpbf16ps tmm3, tmm5, tmm7",
                // A₁B₂
                "tileloadd tmm5, [{a} + {line} + 1024]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tileloadd tmm6, [{b} + {line} + 4096]",
                "tdpbf16ps tmm3, tmm5, tmm7",
                // A₁B₃
                "tileloadd tmm7, [{b} + {line} + 5120]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {a}, 6144",
                "add {b}, 6144",
                "dec {steps}",
                "jnz 4b",
                "5:",
                "tilestored [{c} + {stride}], tmm0",
                "tilestored [{c} + {stride} + 64], tmm1",
                "tilestored [{low} + {stride}], tmm2",
                "tilestored [{low} + {stride} + 64], tmm3",
                c = in(reg) c,
                low = in(reg) c.wrapping_add(SIDE * stride),
                stride = in(reg) 4 * stride,
                add = in(reg) u32::from(add),
                a = inout(reg) a => _,
                b = inout(reg) b => _,
                steps = inout(reg) steps => _,
                line = in(reg) 4 * SIDE,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack)
            );
        }
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        // SAFETY: the unit is there; what its tiles hold is not needed any more.
        unsafe { asm!("tilerelease", options(nostack, nomem)) };
    }
}
