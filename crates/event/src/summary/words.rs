//! Words of GitHub's that need no wrapping, because they are in the program: actions, states,
//! conclusions, severities. A value that is not among them is shown as any other.

/// Kept as text, so that it reads as a list of words.
const WORDS: &str = "\
    AT_RISK COMPLETE DraftIssue INACTIVE Issue OFF_TRACK ON_TRACK PullRequest action_required \
    active added added_to_repository answered appeared_in_branch approved archived assigned \
    auto_dismissed auto_merge_disabled auto_merge_enabled auto_reopened backfill blocked \
    blocked_by_added blocked_by_removed blocking_added blocking_removed branch building built \
    cancelled category_changed changed changes_requested checks_requested closed closed_by_user \
    commented commit completed converted converted_to_draft create created critical deleted \
    demilestoned denied dequeued destroyed disabled discussion_body discussion_comment \
    discussion_title dismiss dismissed edited enabled enqueued error evaluate expected failure \
    false_positive fixed git high importing in_progress inactive incremental info installing \
    invalidated issue_body issue_comment issue_title issues labeled locked low medium \
    member_added member_invited member_removed merged milestoned moderate moved neutral \
    new_permissions_accepted none note open opened parent_issue_added parent_issue_removed \
    pattern_deleted pattern_edited pending pending_cancellation pending_change \
    pending_change_cancelled pending_tier_change performed pinned prereleased privatized \
    promote_to_enterprise publicized publicly_leaked published pull_request pull_request_body \
    pull_request_comment pull_request_review pull_request_review_comment pull_request_title \
    purchased queued ready_for_review reintroduced rejected released removed removed_from_repository \
    renamed reopen reopened reopened_by_user reordered reported requested requested_action rerequested \
    resolve resolved restored review_request_removed review_requested revoked skipped stale \
    started startup_failure sub_issue_added sub_issue_removed submitted success suspend \
    synchronize tag tier_changed timed_out transferred typed unanswered unarchived unassigned \
    unblocked unlabeled unlocked unpinned unpublished unresolved unsuspend untyped updated \
    used_in_tests validated waiting warning wiki_commit withdrawn wont_fix";

/// The program's own copy of a word it knows.
pub(super) fn known(text: &str) -> Option<&'static str> {
    WORDS.split(' ').find(|word| *word == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_plain_and_stand_once() {
        let words: Vec<&str> = WORDS.split(' ').collect();
        assert!(words.is_sorted_by(|one, two| one < two), "in order, none twice");
        let is_plain = |word: &&str| word.bytes().all(|it| it.is_ascii_alphabetic() || it == b'_');
        assert!(words.iter().all(|word| is_plain(word) && !word.is_empty()));
        assert_eq!(known("timed_out"), Some("timed_out"));
        for other in ["", " ", "opened ", "Opened", "opened on", "x"] {
            assert_eq!(known(other), None, "{other:?}");
        }
    }
}
