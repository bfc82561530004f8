//! Symbolic links that people put in the place of a file, which stay.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::directory::parent;
use crate::error::IoError;

/// The kernel follows no more links than this.
const MOST_LINKS: usize = 40;

/// Where a replacement must go: behind a symbolic link, also a dangling one, the file it names.
///
/// # Errors
/// When links go in a circle.
pub fn behind_link(path: &Path) -> Result<PathBuf, IoError> {
    let mut target = path.to_owned();
    for _ in 0..=MOST_LINKS {
        match std::fs::read_link(&target) {
            Ok(next) => target = parent(&target).join(next),
            // No link; or nothing that can be looked at, which whoever opens it will be told.
            Err(_) => return Ok(target),
        }
    }
    Err(IoError::on("follow the link", path)(io::Error::from(Errno::LOOP)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_followed_to_the_file_it_means_whether_that_exists_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("there")).unwrap();
        symlink("there/second", at("first")).unwrap();
        symlink("../third", at("there/second")).unwrap();
        symlink(at("file"), at("third")).unwrap();
        for exists in [false, true] {
            let target = behind_link(&at("first")).unwrap();
            assert_eq!(parent(&target).canonicalize().unwrap(), directory.path());
            assert_eq!((target.file_name().unwrap(), target.exists()), ("file".as_ref(), exists));
            std::fs::File::create(at("file")).unwrap();
        }
        assert_eq!(behind_link(&at("file")).unwrap(), at("file"));
        assert_eq!(behind_link(&at("nothing")).unwrap(), at("nothing"));
        symlink("circle", at("circle")).unwrap();
        let error = behind_link(&at("circle")).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot follow the link {}", at("circle").display()));
    }
}
