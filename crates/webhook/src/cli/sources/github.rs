//! What GitHub must be told.

use std::path::Path;

/// Every kind of event that watches and subscriptions can use. Noise is left out: stars, forks,
/// wiki pages, members, housekeeping. One that repositories do not offer would have GitHub refuse
/// the whole webhook, so only those are here whose documentation names repositories.
pub(super) const EVENTS: &[&str] = &[
    "check_run",
    "check_suite",
    "code_scanning_alert",
    "commit_comment",
    "create",
    "dependabot_alert",
    "deployment",
    "deployment_status",
    "discussion",
    "discussion_comment",
    "issue_comment",
    "issues",
    "label",
    "milestone",
    "package",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "release",
    "repository",
    "secret_scanning_alert",
    "status",
    "workflow_job",
    "workflow_run",
];

/// The command that creates the webhook; gh reads the secret from its file, so that it stands in
/// no command line.
pub(super) fn create_hook(url: &str, secret_file: &Path) -> String {
    let mut words = vec![
        "gh api repos/OWNER/REPO/hooks -f name=web -F active=true".to_owned(),
        format!("-f {}", quoted(&format!("config[url]={url}"))),
        "-f 'config[content_type]=json'".to_owned(),
        format!("-F {}", quoted(&format!("config[secret]=@{}", secret_file.display()))),
    ];
    words.extend(EVENTS.iter().map(|event| format!("-f 'events[]={event}'")));
    words.join(" ")
}

/// One word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use agent_box_event::{Event, Json, is_ci, is_noise};

    use super::*;

    #[test]
    fn the_hook_sends_what_watches_use_and_no_noise() {
        let payload = Json::Object(Vec::new());
        for kind in EVENTS {
            let event = Event { topic: None, kind, sender: None, payload: &payload };
            assert!(!is_noise(&event), "{kind}");
        }
        // The kinds of CI, and those of the default policy.
        for kind in [
            "workflow_run",
            "workflow_job",
            "check_run",
            "check_suite",
            "status",
            "deployment_status",
            "issues",
            "issue_comment",
            "pull_request",
            "pull_request_review",
            "pull_request_review_comment",
            "push",
            "commit_comment",
            "discussion",
            "discussion_comment",
        ] {
            assert!(EVENTS.contains(&kind), "{kind}");
        }
        assert_eq!(EVENTS.iter().filter(|kind| is_ci(kind)).count(), 6);
        assert!(EVENTS.is_sorted());
    }

    #[test]
    fn the_secret_is_read_from_its_file_and_words_stay_words() {
        let line = create_hook("https://box.test/a/webhook/github", Path::new("/h/it's/x.secret"));
        assert!(line.contains(r"-F 'config[secret]=@/h/it'\''s/x.secret'"), "{line}");
        assert!(line.contains("-f 'config[url]=https://box.test/a/webhook/github'"), "{line}");
        assert!(line.contains("-f 'events[]=check_suite'"), "{line}");
        assert!(!line.contains('\n'));
    }
}
