//! Run-time selection of the instruction set.
//!
//! A loop written inside `simd!` is compiled twice: for the baseline CPU, and for AVX2 with FMA. CPUs without AVX2, and runs
//! with `CONTROLG_SIMD=plain`, use the baseline version. Other architectures have the baseline version only, vectorized by
//! the compiler. Dense products also use AMX, or else AVX-512; `CONTROLG_SIMD=avx512` disables AMX, `CONTROLG_SIMD=avx2` both.

use crate::Real;
use std::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const BASELINE: u8 = 1;
const AVX2: u8 = 2;
const AVX512: u8 = 3;
const AMX: u8 = 4;
static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether the AVX2 versions are used.
#[inline(always)]
pub fn has_avx2() -> bool {
    mode() >= AVX2
}

/// Whether dense products and the AVX-512 versions may use AVX-512.
#[inline(always)]
pub fn has_avx512() -> bool {
    mode() >= AVX512
}

/// Whether dense products run on AMX.
#[inline(always)]
pub fn has_amx() -> bool {
    mode() == AMX
}

/// The name of the instruction set in use. Results are the same to the last bit on CPUs with the same name.
pub(crate) fn name() -> &'static str {
    match mode() {
        AMX => "amx",
        AVX512 => "avx512",
        AVX2 => "avx2",
        _ => "plain",
    }
}

#[inline(always)]
fn mode() -> u8 {
    match MODE.load(Ordering::Relaxed) {
        UNKNOWN => detect(),
        mode => mode,
    }
}

/// Selects the baseline versions for the whole process, as `CONTROLG_SIMD=plain` does. For tests.
pub fn force_plain() {
    MODE.store(BASELINE, Ordering::Relaxed);
}

#[cold]
fn detect() -> u8 {
    let choice = std::env::var("CONTROLG_SIMD").unwrap_or_default();
    #[cfg(target_arch = "x86_64")]
    let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let has_avx2 = false;
    #[cfg(all(target_arch = "x86_64", not(feature = "f64")))]
    let (has_avx512, has_amx) = (super::packed::has_avx512(), super::packed::has_amx());
    #[cfg(not(all(target_arch = "x86_64", not(feature = "f64"))))]
    let (has_avx512, has_amx) = (false, false);
    let available = match () {
        _ if !has_avx2 => BASELINE,
        _ if has_amx => AMX,
        _ if has_avx512 => AVX512,
        _ => AVX2,
    };
    let requested = match choice.as_str() {
        "plain" => BASELINE,
        "avx2" => AVX2,
        "avx512" => AVX512,
        _ => AMX,
    };
    MODE.store(available.min(requested), Ordering::Relaxed);
    available.min(requested)
}

/// Defines a function whose body is compiled twice. The name in brackets is a constant that tells the body whether a fused
/// multiply-add is a single instruction; further constants may follow. With `with avx512`, the body is compiled a third time,
/// for AVX-512, with the same results to the last bit. Few loops benefit: those that sum rows in registers take 0.85 of the time
/// with AVX2 (Zen 5), others between the same and twice.
macro_rules! simd {
    (with avx512 $($function:tt)*) => { simd! { @define true; $($function)* } };
    (@define $avx512:literal;
     $(#[$meta:meta])* $vis:vis fn $name:ident[$fma:ident $(, const $c:ident: $ct:ty)*]
     ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name<$(const $c: $ct),*>($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body<const $fma: bool $(, const $c: $ct)*>($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
                fn avx512<$(const $c: $ct),*>($($arg: $ty),*) $(-> $ret)? {
                    body::<true $(, $c)*>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2<$(const $c: $ct),*>($($arg: $ty),*) $(-> $ret)? {
                    body::<true $(, $c)*>($($arg),*)
                }
                if $avx512 && $crate::kernels::simd::has_avx512() {
                    // SAFETY: `has_avx512()` is true only if the CPU has AVX-512, AVX2 and FMA.
                    return unsafe { avx512::<$($c),*>($($arg),*) };
                }
                if $crate::kernels::simd::has_avx2() {
                    // SAFETY: `has_avx2()` is true only if the CPU has AVX2 and FMA.
                    return unsafe { avx2::<$($c),*>($($arg),*) };
                }
            }
            body::<{ cfg!(target_arch = "aarch64") } $(, $c)*>($($arg),*)
        }
    };
    ($($function:tt)*) => { simd! { @define false; $($function)* } };
}

/// `a * b + c`, fused if that is a single instruction.
#[inline(always)]
pub(crate) fn madd<const FMA: bool>(a: Real, b: Real, c: Real) -> Real {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Prefetches `n` numbers from index `start` into the L1 cache. Does nothing for addresses that do not exist.
#[inline(always)]
pub(crate) fn prefetch(from: &[Real], start: usize, n: usize) {
    #[cfg(target_arch = "x86_64")]
    fetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(from.as_ptr().wrapping_add(start), n);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, start, n);
}

/// [`prefetch`] into the L2 cache, which can have more lines in flight than the L1 cache.
#[inline(always)]
pub(crate) fn prefetch_early(from: &[Real], start: usize, n: usize) {
    #[cfg(target_arch = "x86_64")]
    fetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(from.as_ptr().wrapping_add(start), n);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, start, n);
}

/// [`prefetch`] for writing.
#[inline(always)]
pub(crate) fn prefetch_to_write(from: *const Real, n: usize) {
    #[cfg(target_arch = "x86_64")]
    fetch::<{ std::arch::x86_64::_MM_HINT_ET0 }>(from, n);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, n);
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch<const HINT: i32>(from: *const Real, n: usize) {
    // One prefetch per cache line; the loop unrolls if `n` is a constant.
    const LINE: usize = 64 / size_of::<Real>();
    for line in 0..n.div_ceil(LINE) {
        let at = from.wrapping_add(line * LINE);
        // SAFETY: a prefetch is a hint. It does not access memory architecturally and cannot fault, whatever the address.
        unsafe { std::arch::x86_64::_mm_prefetch::<HINT>(at.cast()) };
    }
}

/// A vectorizable `exp(x)`: relative error below 3e-7 for normal results. Inputs are clamped to ±87; NaN stays NaN.
#[cfg(not(feature = "f64"))]
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: Real) -> Real {
    // x = n ln 2 + r with |r| ≤ ln 2 / 2; adding 1.5·2²³ rounds to an integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 87.0);
    let shifted = madd::<FMA>(x, std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = madd::<FMA>(n, -LN2_LOW, madd::<FMA>(n, -LN2_HIGH, x));
    let mut p = 1.0 / 720.0;
    for c in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = madd::<FMA>(p, r, c);
    }
    let power = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    p * f32::from_bits(power)
}

/// `exp(x)` in full precision, for the gradient tests.
#[cfg(feature = "f64")]
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: Real) -> Real {
    x.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_close_to_the_library_and_keeps_nan() {
        for i in -8700..=8700 {
            let x = Real::from(i as i16) / 100.0;
            let want = f64::from(x).exp();
            for got in [exp::<true>(x), exp::<false>(x)] {
                assert!((f64::from(got) - want).abs() <= 3e-7 * want, "exp({x}) = {got}, not {want}");
            }
        }
        assert!(exp::<false>(Real::NAN).is_nan());
        assert!(exp::<false>(-1e30) < 1e-37);
    }
}
