//! Which instructions the loops use, decided when the program runs.
//!
//! A body is written once inside `simd!` and compiled twice: plainly, and with AVX2 and FMA. Processors without
//! them, and runs with `CONTROLG_SIMD=plain`, take the plain one. On other architectures the plain body is all
//! there is, and the compiler vectorizes it with what the architecture guarantees. Dense products also know the
//! matrix unit (`amx`), which runs with `CONTROLG_SIMD=avx2` do without.

use crate::Real;
use std::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const PLAIN: u8 = 1;
const WIDE: u8 = 2;
const TILED: u8 = 3;
static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether the AVX2 bodies run.
#[inline(always)]
pub fn wide() -> bool {
    mode() >= WIDE
}

/// Whether dense products run on the matrix unit.
#[inline(always)]
pub fn tiled() -> bool {
    mode() == TILED
}

#[inline(always)]
fn mode() -> u8 {
    match MODE.load(Ordering::Relaxed) {
        UNKNOWN => detect(),
        mode => mode,
    }
}

/// Takes the plain bodies from now on, in the whole process. For tests: a run says `CONTROLG_SIMD=plain`.
pub fn force_plain() {
    MODE.store(PLAIN, Ordering::Relaxed);
}

#[cold]
fn detect() -> u8 {
    let choice = std::env::var("CONTROLG_SIMD").unwrap_or_default();
    #[cfg(target_arch = "x86_64")]
    let vectors = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let vectors = false;
    #[cfg(all(target_arch = "x86_64", not(feature = "f64")))]
    let tiles = super::amx::able();
    #[cfg(not(all(target_arch = "x86_64", not(feature = "f64"))))]
    let tiles = false;
    let able = match (vectors, tiles) {
        (false, _) => PLAIN,
        (true, false) => WIDE,
        (true, true) => TILED,
    };
    let wanted = match choice.as_str() {
        "plain" => PLAIN,
        "avx2" => WIDE,
        _ => TILED,
    };
    MODE.store(able.min(wanted), Ordering::Relaxed);
    able.min(wanted)
}

/// Defines a function whose body is compiled twice. The name in brackets is a constant that tells the body
/// whether a fused multiply-add is one instruction; further constants may follow it. Behind `with avx512` it is compiled a third
/// time, for processors that have a matrix unit too: few bodies gain by that, and on others it would slow some down.
macro_rules! simd {
    (with avx512 $($function:tt)*) => { simd! { @define true; $($function)* } };
    (@define $wider:literal;
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
                fn wider<$(const $c: $ct),*>($($arg: $ty),*) $(-> $ret)? {
                    body::<true $(, $c)*>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn wide<$(const $c: $ct),*>($($arg: $ty),*) $(-> $ret)? {
                    body::<true $(, $c)*>($($arg),*)
                }
                if $wider && $crate::kernels::simd::tiled() {
                    // SAFETY: processors with a matrix unit have AVX-512.
                    return unsafe { wider::<$($c),*>($($arg),*) };
                }
                if $crate::kernels::simd::wide() {
                    // SAFETY: `wide()` is true only where the processor has AVX2 and FMA.
                    return unsafe { wide::<$($c),*>($($arg),*) };
                }
            }
            body::<{ cfg!(target_arch = "aarch64") } $(, $c)*>($($arg),*)
        }
    };
    ($($function:tt)*) => { simd! { @define false; $($function)* } };
}

/// `a * b + c`, fused where that is one instruction.
#[inline(always)]
pub(crate) fn madd<const FMA: bool>(a: Real, b: Real, c: Real) -> Real {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Fetches `n` numbers from `start` into the L1 cache ahead of their use. Nothing happens where they do not exist.
#[inline(always)]
pub(crate) fn prefetch(from: &[Real], start: usize, n: usize) {
    #[cfg(target_arch = "x86_64")]
    fetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(from.as_ptr().wrapping_add(start), n);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, start, n);
}

/// [`prefetch`] into the L2 cache, which has more lines on their way at a time than the L1 cache.
#[inline(always)]
pub(crate) fn prefetch_early(from: &[Real], start: usize, n: usize) {
    #[cfg(target_arch = "x86_64")]
    fetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(from.as_ptr().wrapping_add(start), n);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, start, n);
}

/// [`prefetch`] of what is going to be written.
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
    // Counted by lines: where `n` is known to the compiler there is no loop left.
    const LINE: usize = 64 / size_of::<Real>();
    for line in 0..n.div_ceil(LINE) {
        let at = from.wrapping_add(line * LINE);
        // SAFETY: a prefetch is a hint; it reads nothing and cannot fault, whatever the address.
        unsafe { std::arch::x86_64::_mm_prefetch::<HINT>(at.cast()) };
    }
}

/// `exp(x)` as a loop can vectorize it: relative error below 3e-7 where the result is a normal number, inputs
/// held within ±87, NaN kept.
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

/// `exp(x)`: the gradient suite wants every digit.
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
