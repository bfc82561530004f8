//! What templates can print: three texts of bindings, so that Nix and Rust share one source.
//!
//! A template prints each inside the braces of a set, where nothing would be legal Nix too:
//!
//! ```nix
//! constants = { /*= constants =*/ };
//! payload = { /*= payload =*/ };
//! source = { /*= source =*/ };
//! ```
//!
//! | name | bindings |
//! |---|---|
//! | `constants` | `version`, `rustVersion`, `socketName`, `systemRuntime` (with the user's name after it: the runtime directory), `configDirectory`, `stateDirectory`, `webhookState`, `registry`, `envFile` (below the home), `agents`, and `env.CONSTANT` for every name in `session::env::TABLE` |
//! | `payload` | path below `nixos/payload` → text |
//! | `source` | `files`: path → text of the embedded workspace; `hash`: of the tree that they make |

use std::path::{Path, PathBuf};

use agent_box_session::paths::Paths;
use agent_box_session::{Agent, WebhookPaths, env};

use crate::embedded::Embedded;
use crate::nix::nixhash::NixHash;
use crate::nix_string::{NixString, NixStringError};
use crate::nix_text::NixText;

/// Text that this crate knows to hold no NUL.
fn known(text: &str) -> NixString<'_> {
    NixString::new(text).expect("BUG: our own names hold no NUL")
}

/// The bindings of `constants`.
pub(crate) fn constants(embedded: &Embedded) -> Result<NixText, NixStringError> {
    let paths = Paths::new("", "");
    let webhook = WebhookPaths::of_home(Path::new(""));
    let path = |path: PathBuf| {
        let text = path.into_os_string().into_string();
        known(&text.expect("BUG: our own paths are UTF-8")).quoted()
    };
    let agents = [Agent::Claude, Agent::Codex, Agent::Shell];
    let agents = agents.iter().map(|agent| known(agent.as_str()).quoted());
    let variables = env::TABLE.iter().map(|it| (known(it.constant), known(it.name).quoted()));
    Ok(NixText::bindings(
        4,
        [
            (known("version"), NixString::new(&embedded.version)?.quoted()),
            (known("rustVersion"), NixString::new(&embedded.rust_version)?.quoted()),
            (known("socketName"), known(Paths::SOCKET_NAME).quoted()),
            (known("systemRuntime"), path(Paths::system_runtime(""))),
            (known("configDirectory"), path(paths.config())),
            (known("stateDirectory"), path(paths.state())),
            (known("webhookState"), path(webhook.state().to_owned())),
            (known("registry"), path(paths.registry())),
            (known("envFile"), path(paths.env_file())),
            (known("agents"), NixText::list(agents)),
            (known("env"), NixText::set(4, variables)),
        ],
    ))
}

/// The bindings of `source`.
pub(crate) fn source(files: NixText, tree: &NixHash) -> NixText {
    NixText::bindings(2, [(known("hash"), known(&tree.sri()).quoted()), (known("files"), files)])
}

/// Files as bindings of path → text at this indentation; fails with the path of the first that
/// Nix cannot hold.
pub(crate) fn files<'a>(
    indent: usize,
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<(NixString<'a>, NixText)>, (String, NixStringError)> {
    let bindings = files.into_iter().map(|(path, text)| {
        let at_path = |error| (path.to_owned(), error);
        let name = NixString::new(path).map_err(at_path)?;
        Ok((name, NixString::new(text).map_err(at_path)?.indented(indent + 2)))
    });
    bindings.collect()
}
