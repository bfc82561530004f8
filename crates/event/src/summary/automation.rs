//! Lines about CI, deployments, and webhooks themselves. Each CI line names what ran, how it
//! ended and where to look, for a session may be started to find out why.

pub(super) const LINES: &[(&str, &str)] = &[
    (
        "workflow_run",
        "workflow {workflow_run.name|workflow.name}: \
         {word workflow_run.conclusion|workflow_run.status|action}, on \
         {repo}@{workflow_run.head_branch}[ {url workflow_run.html_url}]\
         [, for {workflow_run.display_title}][, attempt {workflow_run.run_attempt}]",
    ),
    (
        "workflow_job",
        "job {workflow_job.name}[ of workflow {workflow_job.workflow_name}]: \
         {word workflow_job.conclusion|workflow_job.status|action}\
         [ at step {failed workflow_job.steps:name}], on {repo}[@{workflow_job.head_branch}]\
         [ {url workflow_job.html_url}]",
    ),
    (
        "check_run",
        "check {check_run.name}[ of {check_run.app.name}]: \
         {word check_run.conclusion|check_run.status|action}[, {check_run.output.title}], on {repo}\
         [@{check_run.check_suite.head_branch}][ {url check_run.html_url|check_run.details_url}]",
    ),
    (
        "check_run.rerequested",
        "check {check_run.name} asked for again on {repo}[@{check_run.check_suite.head_branch}] by \
         {sender}[ {url check_run.html_url|check_run.details_url}]",
    ),
    (
        "check_run.requested_action",
        "action {requested_action.identifier} of check {check_run.name} asked for on {repo}\
         [@{check_run.check_suite.head_branch}] by {sender}\
         [ {url check_run.html_url|check_run.details_url}]",
    ),
    (
        "check_suite",
        "check suite of {check_suite.app.name}: \
         {word check_suite.conclusion|check_suite.status|action}, on {repo}\
         [@{check_suite.head_branch}], commit {check_suite.head_sha}[ {url check_suite.url}]",
    ),
    (
        "check_suite.rerequested",
        "check suite of {check_suite.app.name} asked for again on {repo}\
         [@{check_suite.head_branch}], commit {check_suite.head_sha}, by {sender}\
         [ {url check_suite.url}]",
    ),
    (
        "status",
        "commit status {context}: {word state}[, {description}], on {repo}\
         [@{list branches:name}], commit {sha}[ {url target_url|commit.html_url}]",
    ),
    (
        "deployment",
        "deployment to {deployment.environment} {word action} on {repo}@{deployment.ref} by \
         {sender}[: {deployment.description}][ {url deployment.url}]",
    ),
    (
        "deployment_status",
        "deployment to {deployment_status.environment|deployment.environment}: \
         {word deployment_status.state}[, {deployment_status.description}], on \
         {repo}@{deployment.ref}\
         [ {url deployment_status.target_url|deployment_status.log_url|deployment_status.url}]",
    ),
    (
        "deployment_review",
        "deployment review {word action} of workflow {workflow_run.name}[, to {environment}], on \
         {repo} by {sender}[: {comment}][ {url workflow_run.html_url}]",
    ),
    (
        "deployment_protection_rule",
        "deployment protection rule {word action} for {environment} on {repo} by {sender}\
         [ {url deployment.url}]",
    ),
    ("workflow_dispatch", "workflow {workflow} started by hand on {repo}@{branch ref} by {sender}"),
    ("repository_dispatch", "dispatch {action} on {repo}[@{branch}] by {sender}"),
    ("page_build", "pages build of {repo}: {word build.status}[, {build.error.message}]"),
    ("ping", "ping from {repo}[: {zen}][, for {list hook.events}]"),
    ("meta", "webhook {hook_id} {word action} on {repo}[ by {sender}]"),
];
