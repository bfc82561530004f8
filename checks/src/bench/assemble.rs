//! What it costs to render the NixOS module.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::clock::timed;
use super::{Measurement, percentile};

/// `assemble` on this repository, as a check in an editor or a hook would call it.
pub(crate) fn render(program: &Path, times: usize) -> Result<Vec<Measurement>, String> {
    let repository = repository()?;
    let mut samples = Vec::new();
    for _ in 0..times {
        let mut assemble = Command::new(program);
        assemble.args(["--stdout", "--repo"]).arg(&repository).stdout(Stdio::null());
        let (took, done) = timed(|| assemble.status());
        if !done.map_err(|error| format!("cannot run assemble: {error}"))?.success() {
            return Err("assemble failed".to_owned());
        }
        samples.push(took);
    }
    let p50 = percentile(&mut samples, 0.5);
    Ok(vec![Measurement::new("assemble: render the module, whole command, p50", p50, "ms", 100.0)])
}

fn repository() -> Result<PathBuf, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    here.map(Path::to_owned).ok_or_else(|| "this crate has no repository around it".to_owned())
}
