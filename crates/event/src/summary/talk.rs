//! Lines about issues, discussions, projects and what people say there.

pub(super) const LINES: &[(&str, &str)] = &[
    (
        "issues",
        "issue #{issue.number} {word action} on {repo} by {sender}[, assignee {assignee.login}]\
         [, label {label.name}][, milestone {milestone.title}][, type {type.name}]\
         [, to {changes.new_repository.full_name}]: {issue.title}[ {url issue.html_url}]",
    ),
    (
        "issue_comment",
        "comment {word action} on {choose issue.pull_request:pull request/issue} #{issue.number} \
         on {repo} by {sender}: {long comment.body}[ {url comment.html_url}]",
    ),
    (
        "sub_issues",
        "{word action} on {repo} by {sender}: issue #{sub_issue.number} {sub_issue.title} is part \
         of #{parent_issue.number} {parent_issue.title}[ {url parent_issue.html_url}]",
    ),
    (
        "sub_issues.sub_issue_removed",
        "sub_issue_removed on {repo} by {sender}: issue #{sub_issue.number} {sub_issue.title} is no \
         longer part of #{parent_issue.number} {parent_issue.title}[ {url parent_issue.html_url}]",
    ),
    (
        "sub_issues.parent_issue_removed",
        "parent_issue_removed on {repo} by {sender}: issue #{sub_issue.number} {sub_issue.title} is \
         no longer part of #{parent_issue.number} {parent_issue.title}\
         [ {url parent_issue.html_url}]",
    ),
    (
        "issue_dependencies",
        "{word action} on {repo} by {sender}: issue #{blocked_issue.number} {blocked_issue.title} \
         and #{blocking_issue.number} {blocking_issue.title}, which blocks or blocked it\
         [ {url blocked_issue.html_url}]",
    ),
    (
        "discussion",
        "discussion #{discussion.number} {word action} on {repo} by {sender}\
         [, in {discussion.category.name}][, label {label.name}]: {discussion.title}\
         [, saying {long discussion.body}][ {url discussion.html_url}]",
    ),
    (
        "discussion_comment",
        "comment {word action} on discussion #{discussion.number} on {repo} by {sender}: \
         {long comment.body}[ {url comment.html_url}]",
    ),
    ("label", "label {label.name} {word action} on {repo} by {sender}"),
    (
        "milestone",
        "milestone #{milestone.number} {word action} on {repo} by {sender}: {milestone.title}\
         [ {url milestone.html_url}]",
    ),
    (
        "project",
        "project #{project.number} {word action} in {repo} by {sender}: {project.name}\
         [ {url project.html_url}]",
    ),
    ("project_card", "project card {word action} in {repo} by {sender}[: {project_card.note}]"),
    ("project_column", "project column {project_column.name} {word action} in {repo} by {sender}"),
    (
        "projects_v2",
        "project #{projects_v2.number} {word action} in {repo} by {sender}: {projects_v2.title}",
    ),
    (
        "projects_v2_item",
        "project item {word action} in {repo} by {sender}[: {word projects_v2_item.content_type}]\
         [, field {changes.field_value.field_name|changes.field_value.field_type}]",
    ),
    (
        "projects_v2_status_update",
        "project status update {word action} in {repo} by {sender}\
         [: {word projects_v2_status_update.status}][, saying {long projects_v2_status_update.body}]",
    ),
];
