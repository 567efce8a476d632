//! The committed inputs of a target: one file each.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Reads the inputs in the order of their names; returns none if the directory is missing.
pub(super) fn load(directory: &Path) -> anyhow::Result<Vec<(PathBuf, Vec<u8>)>> {
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))? {
        let file = entry?.path();
        if file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    let read = |file: PathBuf| {
        let input = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok((file, input))
    };
    files.into_iter().map(read).collect()
}

/// Writes a failing input. The file name begins with `kind` and depends on the bytes only, so that
/// equal inputs are one file.
pub(super) fn save(directory: &Path, kind: &str, input: &[u8]) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let file = directory.join(format!("{kind}-{:016x}", hash(input)));
    fs::write(&file, input).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// Returns a hex dump with the ASCII characters; empty for inputs above 256 bytes.
pub(super) fn dump(input: &[u8]) -> String {
    let mut text = String::new();
    if input.len() <= 256 {
        for (row, bytes) in input.chunks(16).enumerate() {
            let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let letters = bytes.iter().map(|&byte| if byte.is_ascii_graphic() { byte as char } else { '.' });
            let letters: String = letters.collect();
            writeln!(text, "    {:04x}  {:47}  {letters}", row * 16, hex.join(" ")).ok();
        }
    }
    text
}

/// FNV-1a: a name, not a defence.
fn hash(input: &[u8]) -> u64 {
    input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_shows_bytes_and_letters() {
        assert_eq!(dump(b"ab\0"), format!("    0000  {:47}  ab.\n", "61 62 00"));
        assert_eq!(dump(&[0; 257]), "");
    }

    #[test]
    fn a_name_depends_on_the_bytes() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
