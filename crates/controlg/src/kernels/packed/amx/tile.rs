//! The AMX tile registers: detection, configuration, and the micro-kernel.
//!
//! Written in inline assembly because the AMX intrinsics are not stable in Rust yet.

use std::arch::asm;
use std::sync::OnceLock;

/// Rows of a tile, and its 32-bit columns.
pub(super) const SIDE: usize = 16;
/// Inner indices per step: a 32-bit column holds two bf16 numbers.
pub(super) const DEPTH: usize = 2 * SIDE;
/// Rows and columns of C that the micro-kernel computes: 2 × 2 tiles, so that every loaded tile is used twice.
pub(super) const BLOCK: usize = 2 * SIDE;
/// Numbers in a tile.
pub(super) const TILE: usize = SIDE * DEPTH;
/// bf16 parts of an f32.
pub(super) const PARTS: usize = 3;
/// Numbers of a packed factor per step: two tiles for each of the three parts.
pub(super) const STEP: usize = PARTS * 2 * TILE;

/// Whether the CPU has AMX and the operating system lets this process use it.
pub(in super::super::super) fn is_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| cpu_has_amx() && request_permission())
}

fn cpu_has_amx() -> bool {
    // CPUID leaf 7, EDX: AMX-TILE and AMX-BF16.
    const TILES: u32 = 1 << 24;
    const BF16: u32 = 1 << 22;
    // CPUs with AVX-512 have leaf 7.
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && std::arch::x86_64::__cpuid_count(7, 0).edx & (TILES | BF16) == TILES | BF16
}

/// Asks Linux for the 8 KB of tile state, which a process must request before its first use of AMX.
fn request_permission() -> bool {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::c_long;
        unsafe extern "C" {
            fn syscall(number: c_long, ...) -> c_long;
        }
        const ARCH_PRCTL: c_long = 158;
        const REQUEST_STATE: c_long = 0x1023;
        const TILE_DATA: c_long = 18;
        // SAFETY: this system call takes two integers and only extends the permissions of this process.
        unsafe { syscall(ARCH_PRCTL, REQUEST_STATE, TILE_DATA) == 0 }
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// The tile registers of this thread, configured for full tiles and released on drop.
pub(in super::super) struct TileUnit(());

impl TileUnit {
    pub(super) fn new() -> Self {
        assert!(is_available(), "AMX is available");
        #[repr(align(64))]
        struct TileConfig([u8; 64]);
        let mut config = TileConfig([0; 64]);
        config.0[0] = 1; // palette
        for tile in 0..8 {
            config.0[16 + 2 * tile] = (4 * SIDE) as u8; // bytes per row
            config.0[48 + tile] = SIDE as u8;
        }
        // SAFETY: AMX is available, and the 64 bytes are a valid configuration of palette 1.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &config, options(nostack, readonly)) };
        TileUnit(())
    }

    /// The micro-kernel: loops over the steps with four tiles of C in tmm0–tmm3, two of A in tmm4 and tmm5, and two of B in tmm6
    /// and tmm7. Loads are interleaved with the products that hide their latency.
    ///
    /// # Safety
    /// `a` and `b` must hold `steps` steps; `c` must hold 32 rows of 32 numbers, `stride` apart.
    #[inline(always)]
    pub(super) unsafe fn micro_kernel(
        &self,
        steps: usize,
        a: *const u16,
        b: *const u16,
        c: *mut f32,
        stride: usize,
        add: bool,
    ) {
        // SAFETY: all memory that is read and written lies within the buffers guaranteed by the caller. `self` proves that the
        // tile registers are configured on this thread, and no other code uses them.
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

impl Drop for TileUnit {
    fn drop(&mut self) {
        // SAFETY: AMX is available, and the contents of the tiles are no longer needed.
        unsafe { asm!("tilerelease", options(nostack, nomem)) };
    }
}
