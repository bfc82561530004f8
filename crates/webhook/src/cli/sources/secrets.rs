//! `secrets`: a new one, and the end of the old ones.

use serde_json::json;

use super::super::print::{self, DONE};
use super::super::{Context, Done};
use super::{DropOld, Rotate, named, secret_from};
use crate::ingress::{self, SourceSettings, Sources};

pub(super) fn rotate(rotate: &Rotate, context: &Context) -> Done {
    let name = match named(&rotate.source) {
        Ok(name) => name,
        Err(code) => return Ok(code),
    };
    let given = secret_from(rotate.secret_from.as_deref())?;
    let file = ingress::rotate(&context.paths, &name, given.as_deref())?;
    let sources = Sources::read(&context.paths);
    let settings = sources.find(Some(name.as_str()));
    let active = settings.map_or(0, SourceSettings::active_secrets);
    let secret = settings.filter(|_| rotate.show_secret).and_then(SourceSettings::newest_secret);
    if rotate.json {
        print::json(&json!({
            "source": name.as_str(), "secretFile": file, "secret": secret,
            "activeSecrets": active,
        }));
        return Ok(DONE);
    }
    match secret {
        Some(secret) => print::line(&format!("the new secret of {name} is {secret}")),
        None => print::line(&format!("the new secret of {name} is in {}", file.display())),
    }
    print::line(&format!("{active} are valid now. Enter the new one at the sender, then run:"));
    print::line(&format!("  agent-box webhook test {name}"));
    print::line(&format!("  agent-box webhook secrets drop {name}"));
    Ok(DONE)
}

pub(super) fn drop_old(drop: &DropOld, context: &Context) -> Done {
    let name = match named(&drop.source) {
        Ok(name) => name,
        Err(code) => return Ok(code),
    };
    let dropped = ingress::drop_old(&context.paths, &name)?;
    if drop.json {
        print::json(&json!({ "source": name.as_str(), "dropped": dropped }));
    } else if dropped == 0 {
        print::line(&format!("{name} has no old secrets"));
    } else {
        print::line(&format!("{dropped} dropped; only the newest secret of {name} is valid"));
    }
    Ok(DONE)
}
