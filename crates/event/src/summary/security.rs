//! Lines about alerts, advisories, keys and rules.

pub(super) const LINES: &[(&str, &str)] = &[
    (
        "branch_protection_rule",
        "branch protection rule {rule.name} {word action} on {repo} by {sender}",
    ),
    ("branch_protection_configuration", "branch protection {word action} on {repo} by {sender}"),
    (
        "code_scanning_alert",
        "code scanning alert #{alert.number} {word action}[, {word alert.rule.severity},] on {repo}\
         [@{branch ref}] by {sender}: {alert.rule.description}[, found by {alert.tool.name}]\
         [ {url alert.html_url}]",
    ),
    (
        "dependabot_alert",
        "Dependabot alert #{alert.number} {word action}\
         [, {word alert.security_advisory.severity},] on {repo}[ by {sender}]: \
         {alert.security_advisory.summary}[, package {alert.dependency.package.name}]\
         [ {url alert.html_url}]",
    ),
    (
        "repository_vulnerability_alert",
        "vulnerability alert {word action}[, {word alert.severity},] on {repo}: package \
         {alert.affected_package_name}[, {alert.external_identifier}]\
         [ {url alert.external_reference}]",
    ),
    (
        "secret_scanning_alert",
        "secret scanning alert #{alert.number} {word action} on {repo}[ by {sender}]: \
         {alert.secret_type_display_name|alert.secret_type}[, {word alert.resolution}]\
         [ {url alert.html_url}]",
    ),
    (
        "secret_scanning_alert_location",
        "secret scanning alert #{alert.number} found in {word location.type}\
         [ {location.details.path}] on {repo}[ {url alert.html_url}]",
    ),
    (
        "secret_scanning_scan",
        "secret scanning {word action} on {repo}: {word type}[ of {word source}]",
    ),
    (
        "security_advisory",
        "security advisory {security_advisory.ghsa_id} {word action}\
         [, {word security_advisory.severity}]: {security_advisory.summary}",
    ),
    (
        "repository_advisory",
        "security advisory {repository_advisory.ghsa_id} {word action}\
         [, {word repository_advisory.severity},] on {repo}[ by {sender}]: \
         {repository_advisory.summary}[ {url repository_advisory.html_url}]",
    ),
    ("security_and_analysis", "security and analysis settings changed on {repo} by {sender}"),
    (
        "repository_ruleset",
        "ruleset {repository_ruleset.name} {word action} on {repo} by {sender}\
         [, {word repository_ruleset.enforcement}][ {url repository_ruleset._links.html.href}]",
    ),
    ("deploy_key", "deploy key {key.title} {word action} on {repo} by {sender}"),
    (
        "personal_access_token_request",
        "request for a token by {personal_access_token_request.owner.login} {word action} in {repo} \
         by {sender}",
    ),
    ("github_app_authorization", "authorization of the app {word action} by {sender}"),
];
