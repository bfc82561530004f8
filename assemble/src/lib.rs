//! Renders `nixos/agent-box.nix`: one file with the module and the workspace's source in it.
//!
//! Owns: the choice of what is embedded, the escaping into Nix, and Nix's hashes as far as a
//! fixed-output source needs them.
//! Refuses to know: what the module does; that is in `nixos/templates`.
//!
//! ```no_run
//! use agent_box_assemble::{Sources, render};
//!
//! let module = render(&Sources::read(".".as_ref())?)?;
//! assert!(module.contains("services.agent-box"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//!
//! - The same sources give the same bytes: no clock, no machine path, no order of a directory.
//! - Nix reads every embedded text back byte for byte (`every_short_string_is_read_back`).
//! - A template can print [`nix_text::NixText`] only, and only this crate makes that.
//! - The embedded workspace builds alone, with its lock file as it is
//!   (`the_embedded_workspace_builds_alone`).

mod context;
pub mod difference;
pub mod embedded;
pub mod lock_file;
pub mod nix;
pub mod nix_string;
pub mod nix_text;
mod sources;
mod template;

use thiserror::Error;

use crate::nix_text::NixText;
pub use crate::sources::{MODULE, ReadError, Sources};

/// The command that writes the module anew.
pub const COMMAND: &str = "cargo run -p agent-box-assemble";

/// The module cannot be rendered.
#[derive(Debug, Error)]
pub enum RenderError {
    /// The workspace cannot be cut down to the shipped programs.
    #[error(transparent)]
    Embed(#[from] embedded::EmbedError),
    /// A file holds what Nix cannot.
    #[error("{path} cannot be embedded")]
    Text {
        /// The file.
        path: String,
        /// Why not.
        source: nix_string::NixStringError,
    },
    /// The tree of the embedded files has no hash.
    #[error("the embedded files cannot be archived")]
    Archive(#[from] nix_nar::NarError),
    /// A template is wrong; the source says where.
    #[error("the templates cannot be filled in")]
    Template(#[from] minijinja::Error),
}

/// The generated module's text.
pub fn render(sources: &Sources) -> Result<String, RenderError> {
    let embedded = embedded::embedded(sources)?;
    let tree = nix::nar::hash(&embedded.files)?;
    let at = |(path, source)| RenderError::Text { path, source };
    let constants = context::constants(&embedded)
        .map_err(|source| RenderError::Text { path: "Cargo.toml".to_owned(), source })?;
    let files = embedded.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let files = NixText::set(2, context::files(4, files).map_err(at)?);
    let payload = context::files(4, sources.below("nixos/payload")).map_err(at)?;
    let values = [
        ("constants", constants),
        ("payload", NixText::bindings(4, payload)),
        ("source", context::source(files, &tree)),
    ];
    Ok(template::fill(sources.below("nixos/templates"), values)?)
}
