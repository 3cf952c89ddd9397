//! Ed25519 signatures of records.
//!
//! The signature is made of the bytes of `trace.jsonl`, whose last line names the digests of the run's results, and lies
//! beside it as 64 bytes. OpenSSL makes the keys, and can verify the signature too.

use std::path::{Path, PathBuf};

use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use super::record_of;
use crate::error::{Error, Result};
use crate::files;
use crate::run_files;

/// The largest key file.
const MAX_KEY: u64 = 1 << 16;

/// Signs the record of a run folder, or a record, with a private key in PEM. Returns the path of the signature. The
/// [`audit`](super::audit) is not done here.
pub fn sign(run: &Path, key: &Path) -> Result<PathBuf> {
    let expected = "an Ed25519 private key in PEM, as `openssl genpkey -algorithm ed25519` makes";
    let pem = read_key(key, expected)?;
    let signer =
        SigningKey::from_pkcs8_pem(&pem).map_err(|_| Error::input(key, "", "something else", expected))?;
    let record = record_of(run);
    let signature = signer.sign(&files::read(&record)?);
    let path = signature_of(&record);
    files::atomic_write_bytes(&path, signature.to_bytes())?;
    Ok(path)
}

/// Verifies the signature of a record with a public key in PEM. The [`audit`](super::audit) is not done here.
pub fn verify(run: &Path, key: &Path) -> Result<()> {
    let expected = "an Ed25519 public key in PEM, as `openssl pkey -pubout` makes";
    let pem = read_key(key, expected)?;
    let public = VerifyingKey::from_public_key_pem(&pem)
        .map_err(|_| Error::input(key, "", "something else", expected))?;
    let record = record_of(run);
    let path = signature_of(&record);
    let bytes = files::read(&path)?;
    let signature = Signature::from_slice(&bytes).map_err(|_| {
        Error::input(&path, "", format_args!("{} bytes", bytes.len()), "a signature of 64 bytes")
    })?;
    public.verify_strict(&files::read(&record)?, &signature).map_err(|_| Error::Check {
        file: path,
        place: String::new(),
        found: "the signature of another record, or with another key".to_owned(),
        expected: format!("one of {} with {}", record.display(), key.display()),
    })
}

fn signature_of(record: &Path) -> PathBuf {
    record.with_file_name(run_files::SIGNATURE)
}

fn read_key(path: &Path, expected: &str) -> Result<String> {
    files::check_regular(path)?;
    let found = std::fs::metadata(path).map_err(|error| Error::reading(path, error))?.len();
    if found > MAX_KEY {
        return Err(Error::input(path, "", format_args!("{found} bytes"), expected));
    }
    String::from_utf8(files::read(path)?)
        .map_err(|_| Error::input(path, "", "bytes that are not text", expected))
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::pkcs8::{EncodePrivateKey, EncodePublicKey, spki::der::pem::LineEnding};

    use super::*;

    /// A private key and its public key.
    fn keys(seed: u8) -> (String, String) {
        let key = SigningKey::from_bytes(&[seed; 32]);
        let private = key.to_pkcs8_pem(LineEnding::LF).unwrap().to_string();
        (private, key.verifying_key().to_public_key_pem(LineEnding::LF).unwrap())
    }

    #[test]
    fn a_signature_belongs_to_one_record_and_one_key() {
        let home = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = home.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let (private, public) = keys(1);
        let (private, public) = (file("key.pem", &private), file("public.pem", &public));
        let record = file(run_files::TRACE, "{}\n");
        let signature = sign(home.path(), &private).unwrap();
        assert_eq!(std::fs::metadata(&signature).unwrap().len(), 64);
        verify(home.path(), &public).unwrap();
        verify(&record, &public).unwrap();
        file(run_files::TRACE, "{ }\n");
        assert_eq!(verify(home.path(), &public).unwrap_err().exit_code(), 1);
        file(run_files::TRACE, "{}\n");
        let other = file("other.pem", &keys(2).1);
        assert_eq!(verify(home.path(), &other).unwrap_err().exit_code(), 1);
        for (key, expected) in [(&private, "public key"), (&record, "public key")] {
            assert!(verify(home.path(), key).unwrap_err().to_string().contains(expected));
        }
        assert!(sign(home.path(), &public).unwrap_err().to_string().contains("private key"));
        std::fs::write(&signature, [0; 63]).unwrap();
        assert!(verify(home.path(), &public).unwrap_err().to_string().contains("found 63 bytes"));
    }
}
