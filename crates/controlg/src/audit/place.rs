//! Places in a record, and comparisons that name them.

use std::path::Path;

use crate::error::{Error, Result};

/// Makes the place of a field of the current line.
pub(super) type PlaceOf<'f, 'p> = &'f dyn Fn(&str) -> Place<'p>;

/// A field of a line of the record.
pub(super) struct Place<'p> {
    pub(super) path: &'p Path,
    pub(super) line: usize,
    pub(super) field: String,
}

impl Place<'_> {
    /// The error about a difference here.
    pub(super) fn differs(&self, found: impl std::fmt::Display, expected: impl std::fmt::Display) -> Error {
        let field = if self.field.is_empty() { String::new() } else { format!(", {}", self.field) };
        Error::Check {
            file: self.path.to_owned(),
            place: format!("line {}{field}", self.line),
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// Checks that two values are equal.
    pub(super) fn same<T: PartialEq + std::fmt::Display>(&self, found: T, expected: T) -> Result<()> {
        if found == expected { Ok(()) } else { Err(self.differs(found, expected)) }
    }

    /// Checks that numbers are equal up to the last digits, in which math libraries differ.
    pub(super) fn close(&self, found: &[f64], expected: &[f64]) -> Result<()> {
        if found.len() != expected.len() {
            let count = |n: usize| format!("{n} numbers");
            return Err(self.differs(count(found.len()), count(expected.len())));
        }
        for (k, (&found, &expected)) in found.iter().zip(expected).enumerate() {
            if (found - expected).abs() > 1e-9 * expected.abs().max(1.0)
                || found.is_nan() != expected.is_nan()
            {
                let place = Place { path: self.path, line: self.line, field: format!("{}[{k}]", self.field) };
                return Err(place.differs(found, expected));
            }
        }
        Ok(())
    }
}
