//! `url`: where senders send.

use serde_json::{Map, Value, json};

use super::super::Context;
use super::super::print::{self, DONE, FAILED};
use super::{NO_ENDPOINT, Url, endpoint};
use crate::ingress::Sources;

pub(super) fn run(url: &Url, context: &Context) -> u8 {
    let Some(base) = endpoint(context) else {
        return print::refuse(FAILED, NO_ENDPOINT);
    };
    let sources = Sources::read(&context.paths);
    let default = sources.default_name().filter(|name| sources.find(Some(name.as_str())).is_some());
    if url.json {
        let each = sources.iter().map(|source| {
            (source.name.to_string(), Value::String(format!("{base}/{}", source.name)))
        });
        print::json(&json!({
            "url": base,
            "sources": each.collect::<Map<_, _>>(),
            "defaultSource": default.map(ToString::to_string),
        }));
    } else {
        print::line(base);
        for source in sources.iter() {
            print::line(&format!("  {base}/{}", source.name));
        }
        match default {
            Some(name) => print::line(&format!("The bare address is {name}'s.")),
            None => print::line("No source is set up yet; run `agent-box webhook setup`."),
        }
    }
    for problem in &sources.problems {
        print::warn(problem);
    }
    DONE
}
