//! SHA-256 as Nix writes it: in SRI form and in base 32.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A SHA-256 hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NixHash([u8; 32]);

impl NixHash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The form of `outputHash`: `sha256-…`.
    pub fn sri(&self) -> String {
        let mut text = "sha256-".to_owned();
        for chunk in self.0.chunks(3) {
            let bits = chunk.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte))
                << (8 * (3 - chunk.len()));
            for digit in 0..4 {
                let index = usize::try_from(bits >> (18 - 6 * digit) & 63)
                    .expect("BUG: six bits fit an index");
                let padding = digit > chunk.len();
                text.push(if padding { '=' } else { char::from(BASE64[index]) });
            }
        }
        text
    }

    /// The form that fingerprints of store paths hold.
    pub fn hex(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// The hash's bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::NixHash;
    use crate::nix::nixbase32;

    #[test]
    fn forms_are_those_of_nix() {
        // `nix hash file --sri` and `--base32` of an empty file.
        let empty = NixHash::of(b"");
        assert_eq!(empty.sri(), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(
            nixbase32::encode(empty.bytes()),
            "0mdqa9w1p6cmli6976v4wi0sw9r4p5prkj7lzfd1877wk11c9c73"
        );
    }
}
