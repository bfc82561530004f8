//! Nix's own base 32: 32 digits without `e o t u`, read from the last byte on.

const ALPHABET: &[u8; 32] = b"0123456789abcdfghijklmnpqrsvwxyz";

/// Writes bytes as Nix writes hashes in store paths.
pub fn encode(bytes: &[u8]) -> String {
    let digits = (bytes.len() * 8).div_ceil(5);
    (0..digits)
        .rev()
        .map(|digit| {
            let (byte, shift) = (digit * 5 / 8, digit * 5 % 8);
            let low = u16::from(bytes[byte]);
            let high = bytes.get(byte + 1).map_or(0, |byte| u16::from(*byte));
            char::from(ALPHABET[usize::from((low | high << 8) >> shift & 31)])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn digits_are_those_of_nix() {
        // `nix-hash --type sha256 --to-base32` of the same bytes.
        let all = |byte| encode(&[byte; 32]);
        assert_eq!(all(0), "0".repeat(52));
        assert_eq!(all(255), format!("1{}", "z".repeat(51)));
        assert_eq!(encode(&[0x1f]), "0z");
        assert_eq!(encode(&[]), "");
    }
}
