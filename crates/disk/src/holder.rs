//! Who is in the way: the holder of a lock, as the kernel's table tells.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Who holds a lock, as far as it can be seen from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Its process id; `None` if it lives where we cannot see (another container).
    pub pid: Option<u32>,
    /// Its program.
    pub program: Option<String>,
}

impl Holder {
    /// Looks up in `/proc/locks` who holds `path`.
    pub fn of(path: &Path) -> Self {
        let Ok(meta) = std::fs::metadata(path) else { return Self::default() };
        // The kernel hands the table out in pieces, and a lock may move between two of them.
        let look = || {
            let table = std::fs::read_to_string("/proc/locks").ok()?;
            find_holder(&table, meta.dev(), meta.ino())
        };
        let Some(pid) = (0..3).find_map(|_| look()) else { return Self::default() };
        Self { pid: Some(pid), program: program_of(pid) }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.program) {
            (Some(pid), Some(program)) => write!(f, "pid {pid} ({program})"),
            (Some(pid), None) => write!(f, "pid {pid}"),
            (None, _) => f.write_str("a process that cannot be seen from here"),
        }
    }
}

/// The holder's pid in the text of `/proc/locks`, whose lines read
/// `7: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF` (waiters have `->` as second word).
fn find_holder(table: &str, device: u64, inode: u64) -> Option<u32> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let wanted = format!("{major:02x}:{minor:02x}:{inode}");
    let inode_only = format!(":{inode}");
    let holders = || {
        table.lines().filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words.get(1) == Some(&"FLOCK")).then(|| Some((*words.get(5)?, *words.get(4)?)))?
        })
    };
    // File systems with a device number per subvolume show another one here than stat(2) does.
    let by_inode = || holders().find(|(file, _)| file.ends_with(&inode_only));
    let (_, pid) = holders().find(|(file, _)| *file == wanted).or_else(by_inode)?;
    pid.parse().ok().filter(|pid| *pid != 0)
}

fn program_of(pid: u32) -> Option<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let first = line.split(|byte| *byte == 0).next().filter(|word| !word.is_empty())?;
    let text = String::from_utf8_lossy(first);
    Some(text.rsplit('/').next().unwrap_or(&text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_read_from_the_lock_table() {
        let table = "1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 99 fe:00:1234 0 EOF\n";
        let device = rustix::fs::makedev(0xfe, 0);
        assert_eq!(find_holder(table, device, 1234), Some(4711));
        assert_eq!(find_holder(table, device, 77), None);
        assert_eq!(find_holder(table, rustix::fs::makedev(0, 42), 1234), Some(4711));
    }
}
