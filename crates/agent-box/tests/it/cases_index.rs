//! Which test shows which fault of the field (cases A to F) to be answered right.
//!
//! A case that a lower crate's test shows completely is named there only. Not here: C15 and C26
//! (webhooks), C30 (web), C44 to C46 (units, memory pressure and rebuilds, in virtual machines);
//! what of C46 can be seen without systemd is below.

use std::fs;
use std::path::Path;

/// Case, then the tests that show it.
const CASES: &[(&str, &[&str])] = &[
    // A writer that dies, or a file cut short, loses nothing. (`repair` is asked for, not automatic.)
    (
        "C1",
        &[
            "c1_a_list_cut_short_ends_no_session_and_repair_restores_it",
            "no_session_is_lost_when_a_writer_is_killed",
            "no_session_is_lost_in_a_thousand_kills",
            "a_file_cut_at_any_byte_is_damaged_and_stays_as_it_is",
        ],
    ),
    // Garbage behind a good document.
    (
        "C2",
        &[
            "c2_garbage_behind_the_list_is_said_with_its_place_and_repair_keeps_the_good_part",
            "repair_keeps_a_whole_document_with_garbage_behind_it",
        ],
    ),
    // Unreadable is not empty.
    (
        "C3",
        &[
            "c3_an_unreadable_list_is_not_an_empty_one",
            "each_kind_of_damage_says_where_it_is_and_what_to_do",
        ],
    ),
    // A full disk.
    (
        "C5",
        &[
            "c5_on_a_full_disk_commands_fail_and_say_so_and_everything_works_again_with_room",
            "a_full_disk_changes_nothing_and_is_survived",
            "a_file_size_limit_changes_nothing",
        ],
    ),
    // Parallel removals and adds.
    ("C6", &["c6_thirty_removals_at_once_leave_nothing"]),
    (
        "C7",
        &[
            "c7_parallel_adds_are_all_listed_under_names_of_their_own",
            "fifty_parallel_adds_are_all_listed_and_fifty_removals_leave_nothing",
        ],
    ),
    // Two writers; a writer that hangs with the lock.
    (
        "C8",
        &[
            "c8_two_writers_lose_no_edit_of_each_other",
            "c8_while_a_lock_holder_is_stopped_nobody_writes_and_it_is_named",
            "six_hundred_edits_of_two_processes_are_all_there",
            "a_stopped_lock_holder_is_named_and_nobody_writes",
        ],
    ),
    // A removal does not depend on what tmux says.
    (
        "C10",
        &[
            "c10_a_removal_ends_the_agent_although_tmux_gives_no_answer",
            "killing_without_a_server_is_success_and_starts_none",
        ],
    ),
    // Operators against a start, at every point of it.
    (
        "C11",
        &[
            "p3_rm_at_every_point_of_a_start_leaves_nothing_live",
            "p4_stop_at_every_point_of_a_start_leaves_nothing_live_and_restart_brings_one_agent",
            "p4_restart_at_every_point_of_a_start_leaves_one_agent_of_the_newest_intent",
            "p3_p4_p5_hold_over_two_thousand_random_interleavings",
            "twenty_removals_at_any_moment_of_a_start_leave_nothing",
        ],
    ),
    // A finished job stays finished; the list follows the file.
    ("C13", &["c13_a_finished_agent_is_not_started_again_and_the_list_follows_the_file"]),
    // Starts disturb nobody; deaths have causes.
    (
        "C14",
        &[
            "c14_ten_starts_disturb_nobody_and_every_death_is_in_the_journal_with_its_cause",
            "the_journal_names_code_signal_and_duration",
        ],
    ),
    // No answer is not "all dead".
    (
        "C17",
        &[
            "c17_a_silent_or_missing_tmux_restarts_nothing_and_recovers_by_itself",
            "a_stopped_server_times_out_and_answers_again_later",
        ],
    ),
    // Crash loops: signal deaths, shells that end at once, a missing program.
    (
        "C19",
        &[
            "c19_an_agent_that_dies_at_once_is_held_as_crash_looping_over_a_supervisor_restart",
            "c19_a_missing_program_is_said_and_tried_again_until_it_is_there",
        ],
    ),
    (
        "C20",
        &[
            "c20_an_expired_login_holds_its_own_session_only",
            "an_agent_that_asks_to_sign_in_is_marked",
        ],
    ),
    (
        "C21",
        &[
            "c21_removing_a_name_twice_leaves_longer_names_alive",
            "deleting_a_name_twice_leaves_longer_names_alive",
            "no_target_is_built_outside_its_type",
        ],
    ),
    (
        "C23",
        &[
            "c23_without_any_locale_wide_characters_go_round_byte_for_byte",
            "wide_characters_come_back_without_any_locale",
        ],
    ),
    (
        "C24",
        &[
            "c24_prompts_of_any_size_and_content_reach_the_agent_byte_for_byte",
            "c24_a_start_that_cannot_work_is_shown_with_its_reason",
            "prompts_of_any_size_reach_the_agent_as_a_word_or_by_a_file",
        ],
    ),
    ("C25", &["c25_prompts_are_never_typed_so_a_deaf_terminal_loses_none"]),
    (
        "C27",
        &[
            "c27_a_directory_that_is_gone_starts_nothing_elsewhere",
            "bad_directories_are_refused_with_the_reason",
            "a_directory_without_the_right_to_enter_is_refused_to_all_but_root",
        ],
    ),
    ("C29", &["c29_a_users_own_tmux_and_another_box_are_not_touched"]),
    (
        "C33",
        &[
            "c33_five_sessions_in_one_directory_come_back_with_their_own_conversations",
            "c33_a_conversation_that_is_not_provably_its_own_is_not_resumed_and_it_says_so",
            "c33_two_sessions_that_moved_to_one_conversation_do_not_both_resume_it",
            "five_sessions_in_one_directory_keep_their_own_conversations",
        ],
    ),
    ("C35", &["c35_a_killed_supervisor_ends_nothing_and_the_next_one_takes_over"]),
    ("C38", &["c38_the_next_holder_of_a_name_gets_nothing_of_the_last_one"]),
    // C41 is the same leak, seen by a child.
    (
        "C40",
        &[
            "c40_of_two_hundred_variables_around_the_box_none_reaches_an_agent",
            "nothing_of_the_tmux_server_s_environment_reaches_the_agent",
        ],
    ),
    ("C41", &["c40_of_two_hundred_variables_around_the_box_none_reaches_an_agent"]),
    (
        "C42",
        &[
            "c42_values_arrive_exactly_and_are_seen_nowhere",
            "a_secret_from_stdin_is_on_no_command_line_and_the_file_keeps_what_people_wrote",
        ],
    ),
    ("C46", &["p7_a_replaced_program_changes_no_agent_and_the_new_supervisor_takes_over"]),
    (
        "C48",
        &[
            "c48_a_removal_returns_only_when_hidden_deaf_descendants_are_gone",
            "nothing_that_an_agent_left_behind_outlives_it",
        ],
    ),
    ("C50", &["c50_a_failed_agent_leaves_a_post_mortem_and_no_shell"]),
    ("C51", &["c51_a_lock_is_a_held_file_and_never_a_number_in_one"]),
    ("C54", &["c54_a_start_that_hangs_delays_nobody_else"]),
];

/// The text of every Rust file below a directory.
fn sources(directory: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("list a source directory") {
        let path = entry.expect("read a source directory").path();
        if path.is_dir() {
            sources(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            texts.push(fs::read_to_string(path).expect("read a source file"));
        }
    }
}

#[test]
fn every_case_names_tests_that_exist_and_every_case_test_is_named() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates are in a directory");
    let mut texts = Vec::new();
    sources(crates, &mut texts);
    let all = texts.concat();
    for (case, tests) in CASES {
        for test in *tests {
            // Tests of the same shape are listed in a macro: `NAME: |stage| …`.
            let forms = [format!("fn {test}()"), format!(" {test}: |")];
            assert!(
                forms.iter().any(|form| all.contains(form)),
                "{case}: no test is called {test}"
            );
        }
    }
    let named: Vec<&&str> = CASES.iter().flat_map(|(_, tests)| *tests).collect();
    for test in all.split("fn c").skip(1) {
        let name: String = test.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let (number, rest) = name.split_once('_').unwrap_or_default();
        if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) && !rest.is_empty() {
            let name = format!("c{name}");
            assert!(named.iter().any(|it| **it == name), "{name} is not in the table");
        }
    }
}
