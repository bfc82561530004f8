//! Lines about repositories as such, organisations, teams, apps and money.

pub(super) const LINES: &[(&str, &str)] = &[
    (
        "repository",
        "repository {repo} {word action} by {sender}[, once {changes.repository.name.from}]\
         [, once of {changes.owner.from.user.login|changes.owner.from.organization.login}]\
         [, default branch once {changes.default_branch.from}]",
    ),
    ("repository_import", "import of {repo}: {word status}"),
    ("public", "{repo} made public by {sender}"),
    (
        "custom_property",
        "custom property {definition.property_name} {word action} in {repo} by {sender}",
    ),
    (
        "custom_property_values",
        "custom properties of {repo} {word action} by {sender}\
         [: {list new_property_values:property_name}]",
    ),
    ("star", "star {word action} on {repo} by {sender}"),
    ("watch", "watching {word action} on {repo} by {sender}"),
    ("member", "collaborator {member.login} {word action} on {repo} by {sender}"),
    (
        "membership",
        "member {member.login} {word action}[, in team {team.name},] in {organization.login} by \
         {sender}",
    ),
    (
        "organization",
        "organization {organization.login}: {word action} by {sender}\
         [: {membership.user.login|user.login|invitation.login}]\
         [, once {changes.login.from}]",
    ),
    ("org_block", "user {blocked_user.login} {word action} in {organization.login} by {sender}"),
    (
        "team",
        "team {team.name} {word action}[, {repository.full_name},] in {organization.login} by {sender}",
    ),
    ("team_add", "team {team.name} added to {repo} by {sender}"),
    (
        "installation",
        "installation of the app {word action} on {installation.account.login} by {sender}\
         [: {list repositories:full_name}]",
    ),
    (
        "installation_repositories",
        "repositories of the app {word action} on {installation.account.login} by {sender}\
         [: {list repositories_added:full_name}][: {list repositories_removed:full_name}]",
    ),
    (
        "installation_target",
        "account of the app's installation {word action}[, once {changes.login.from}]: \
         {account.login|account.slug}",
    ),
    (
        "sponsorship",
        "sponsorship of {sponsorship.sponsorable.login} {word action} by {sponsorship.sponsor.login}\
         [: {sponsorship.tier.name}]",
    ),
    (
        "marketplace_purchase",
        "marketplace purchase {word action} by {sender}: {marketplace_purchase.account.login}\
         [, plan {marketplace_purchase.plan.name}]",
    ),
];
