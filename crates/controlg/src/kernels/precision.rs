//! The precision of the factors of dense products.

/// The precision of the factors of a dense product. Sums are always taken in [`Real`](crate::Real).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// The factors as they are.
    #[default]
    Full,
    /// The factors rounded to bf16 (8 significant bits), where the CPU multiplies such numbers and the product is large enough
    /// to be packed; elsewhere [`Precision::Full`].
    Bf16,
}

impl Precision {
    /// Whether this CPU multiplies factors of this precision.
    pub fn is_available(self) -> bool {
        match self {
            Precision::Full => true,
            #[cfg(all(target_arch = "x86_64", not(feature = "f64")))]
            Precision::Bf16 => super::simd::has_avx512() && super::packed::has_bf16(),
            #[cfg(not(all(target_arch = "x86_64", not(feature = "f64"))))]
            Precision::Bf16 => false,
        }
    }
}
