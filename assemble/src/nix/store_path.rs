//! Store paths of fixed outputs, computed without a store.

use super::nixbase32;
use super::nixhash::NixHash;

/// Where the output of a recursive SHA-256 fixed-output derivation lies.
///
/// Only the name and the hash decide, which is why a name must carry what the text is: a changed
/// text under an unchanged hash would silently be the old path.
pub fn of_fixed_tree(name: &str, tree: &NixHash) -> String {
    let fingerprint = format!("source:sha256:{}:/nix/store:{name}", tree.hex());
    let digest = NixHash::of(fingerprint.as_bytes());
    // Nix folds the digest to 160 bits by XOR.
    let mut folded = [0; 20];
    for (index, byte) in digest.bytes().iter().enumerate() {
        folded[index % 20] ^= byte;
    }
    format!("/nix/store/{}-{name}", nixbase32::encode(&folded))
}
