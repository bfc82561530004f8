//! Lines about commits, branches, pull requests, releases and packages.

pub(super) const LINES: &[(&str, &str)] = &[
    (
        "push",
        "push to {repo}@{branch ref} by {sender}[, {if created:new}][, {if deleted:deleted}]\
         [, {if forced:forced}]: {count commits commit}[, the last {first head_commit.message}]\
         [ {url compare}]",
    ),
    ("create", "{word ref_type} {ref} created on {repo} by {sender}"),
    ("delete", "{word ref_type} {ref} deleted on {repo} by {sender}"),
    (
        "commit_comment",
        "comment {word action} on commit {comment.commit_id} on {repo} by {sender}\
         [ at {comment.path}][ line {comment.line}]: {long comment.body}[ {url comment.html_url}]",
    ),
    (
        "pull_request",
        "pull request #{pull_request.number|number} {word action} on {repo} by {sender}\
         [, assignee {assignee.login}][, label {label.name}][, of {requested_reviewer.login}]\
         [, of team {requested_team.name}]: {pull_request.title}[ {url pull_request.html_url}]\
         [, from {pull_request.head.label}][ into {pull_request.base.ref}]",
    ),
    (
        "pull_request.closed",
        "pull request #{pull_request.number|number} closed, \
         {choose pull_request.merged:merged/not merged}, on {repo} by {sender}: \
         {pull_request.title}[ {url pull_request.html_url}][, from {pull_request.head.label}]\
         [ into {pull_request.base.ref}]",
    ),
    (
        "pull_request_review",
        "{word review.state} review {word action} on pull request #{pull_request.number} on {repo} \
         by {sender}: {pull_request.title}[, saying {long review.body}][ {url review.html_url}]",
    ),
    (
        "pull_request_review_comment",
        "review comment {word action} on pull request #{pull_request.number} at {comment.path}\
         [ line {comment.line|comment.original_line}] on {repo} by {sender}: {long comment.body}\
         [ {url comment.html_url}]",
    ),
    (
        "pull_request_review_thread",
        "review thread {word action} on pull request #{pull_request.number} on {repo} by {sender}: \
         {pull_request.title}[ {url pull_request.html_url}]",
    ),
    (
        "merge_group",
        "merge group {word action}[, {word reason},] on {repo}@{branch merge_group.base_ref}: \
         commit {merge_group.head_sha}[, {first merge_group.head_commit.message}]",
    ),
    (
        "release",
        "release {release.tag_name} {word action} on {repo} by {sender}[: {release.name}]\
         [ {url release.html_url}]",
    ),
    (
        "package",
        "package {package.name}[ {package.package_version.version}] {word action} on {repo} by \
         {sender}[ {url package.html_url}]",
    ),
    (
        "registry_package",
        "package {registry_package.name}[ {registry_package.package_version.version}] {word action} \
         on {repo} by {sender}[ {url registry_package.html_url}]",
    ),
    ("fork", "{repo} forked to {forkee.full_name} by {sender}[ {url forkee.html_url}]"),
    ("gollum", "wiki of {repo} changed by {sender}[: {list pages:title}]"),
];
