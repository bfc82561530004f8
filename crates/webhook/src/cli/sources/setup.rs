//! `setup`: a source is made, or shown again.

use std::path::Path;

use agent_box_event::Source;
use serde_json::json;

use super::super::print::{self, DONE, FAILED, MISUSED};
use super::super::{Context, Done};
use super::{NO_ENDPOINT, Setup, endpoint, github, secret_from};
use crate::ingress::{self, Scheme, Sources};

pub(super) fn run(setup: &Setup, context: &Context) -> Done {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let name = Source::parse(&setup.source).ok();
    let Some(name) = name.filter(|name| name.as_str().bytes().all(is_plain)) else {
        let text = format!(
            "`{}` cannot name a source here; use at most 64 letters, digits, `_` and `-`",
            setup.source
        );
        return Ok(print::refuse(MISUSED, &text));
    };
    let given = secret_from(setup.secret_from.as_deref())?;
    let made = ingress::set_up(&context.paths, &name, setup.scheme, given.as_deref())?;
    let sources = Sources::read(&context.paths);
    let settings = sources.find(Some(name.as_str()));
    let settings = settings.ok_or_else(|| sources.problems.join("; "))?;
    let url = endpoint(context).map(|base| format!("{base}/{name}"));
    let secret = if setup.show_secret { settings.newest_secret() } else { None };
    let hook = (settings.scheme == Scheme::GitHub)
        .then(|| Some(github::create_hook(url.as_deref()?, made.secret_file.as_deref()?)))
        .flatten();
    if setup.json {
        print::json(&json!({
            "source": name.as_str(),
            "url": url,
            "contentType": "application/json",
            "scheme": settings.scheme.as_str(),
            "signatureHeader": settings.signature_header(),
            "secretFile": made.secret_file,
            "secret": secret,
            "isNew": made.is_new,
            "activeSecrets": settings.active_secrets(),
            "createHook": hook,
            "problems": settings.problems,
        }));
    } else {
        let place = made.secret_file.as_deref().map(Path::display);
        let place = place.map_or_else(|| "in sources.json".to_owned(), |it| it.to_string());
        let public = url.as_deref().unwrap_or("none; see below");
        print::line(&format!("{name}: what to enter at the sender"));
        print::line(&format!("  address       {public}"));
        print::line("  content type  application/json");
        let header = settings.signature_header();
        print::line(&format!("  signature     {} in {header}", settings.scheme.as_str()));
        match secret {
            Some(secret) => print::line(&format!("  secret        {secret}")),
            None => print::line(&format!("  secret        {place} (--show-secret prints it)")),
        }
        next_steps(&name, settings.scheme, hook.as_deref(), settings.active_secrets() > 0);
    }
    if url.is_none() {
        print::warn(&format!("{NO_ENDPOINT}. Deliveries of this machine work (`emit`)"));
    }
    if settings.active_secrets() == 0 && settings.scheme.has_senders_secret() {
        print::warn(&format!(
            "the secret of {name} is made by its sender, and nothing is accepted without it: copy \
             it there, then run `agent-box webhook setup {name} --secret-from -` and paste it"
        ));
        return Ok(DONE);
    }
    for problem in &settings.problems {
        print::warn(&format!("{name}: {problem}"));
    }
    Ok(if settings.active_secrets() == 0 { FAILED } else { DONE })
}

fn next_steps(name: &Source, scheme: Scheme, hook: Option<&str>, can_receive: bool) {
    if let Some(hook) = hook {
        print::line("Create the webhook, as somebody who may administer the repository:");
        print::line(&format!("  {hook}"));
    }
    if !can_receive {
        return;
    }
    let topic = match scheme {
        Scheme::GitHub | Scheme::Gitea if name.as_str() == "github" => "OWNER/REPO".to_owned(),
        Scheme::GitHub | Scheme::Gitea => format!("{name}:OWNER/REPO"),
        _ => format!("{name}:KEY"),
    };
    print::line("Then:");
    print::line(&format!("  agent-box webhook test {name}"));
    print::line(&format!("  agent-box webhook subscribe '{topic}' --note 'why'"));
}
