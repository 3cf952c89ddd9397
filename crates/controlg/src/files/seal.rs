//! Seals: hashes inside JSON objects, which show that they were changed.

use sha2::{Digest, Sha256};

use super::hex;

/// The key of a seal.
pub(crate) const SEAL: &str = "seal";

/// The text before the seal of an object in one line.
const BEFORE: &str = ",\"seal\":\"";

/// The seal of an object: the first 16 hexadecimal digits of the SHA-256 of what comes before it, such as the seal of the
/// previous line, and of its text without the seal.
pub(crate) fn seal(before: &str, body: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(body);
    hex(&hash.finalize()[..8])
}

/// An object in one line with a seal as its last field, and the seal.
pub(crate) fn sealed(before: &str, body: &str) -> (String, String) {
    let seal = seal(before, body);
    let open = body.strip_suffix('}').unwrap_or(body);
    (format!("{open}{BEFORE}{seal}\"}}"), seal)
}

/// The text of a line without its seal, and the seal.
pub(crate) fn without_seal(line: &str) -> Option<(String, String)> {
    let (open, rest) = line.rsplit_once(BEFORE)?;
    Some((format!("{open}}}"), rest.strip_suffix("\"}")?.to_owned()))
}

/// Calls `check` for the file with each bit flipped in turn, and restores it.
#[cfg(test)]
pub(crate) fn with_flipped_bits(path: &std::path::Path, mut check: impl FnMut(&str)) {
    let whole = std::fs::read(path).unwrap();
    for (at, bit) in (0..whole.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << bit;
        std::fs::write(path, bytes).unwrap();
        check(&format!("byte {at}, bit {bit}"));
    }
    std::fs::write(path, whole).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_depends_on_the_object_and_on_what_comes_before() {
        let body = "{\"a\":1}";
        let (line, seal_of_line) = sealed("x", body);
        assert_eq!(line, format!("{{\"a\":1,\"seal\":\"{seal_of_line}\"}}"));
        assert_eq!(without_seal(&line), Some((body.to_owned(), seal_of_line.clone())));
        assert_eq!(without_seal(body), None);
        // echo -n 'x{"a":1}' | sha256sum
        assert_eq!(seal_of_line, "da0bbedddc87d8f9");
        assert_ne!(seal("", body), seal_of_line);
    }
}
