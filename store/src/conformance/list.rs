//! The list of all behaviours, from which tests are made.

use std::future::Future;
use std::time::Duration;

use futures::future::BoxFuture;

use super::subject::Subject;

/// One behaviour: its name, and the function that looks for it and panics if it is not there.
#[derive(Clone, Copy)]
pub struct Behaviour {
    /// What it says.
    pub name: &'static str,
    /// Looks.
    pub check: for<'a> fn(&'a mut dyn Subject) -> BoxFuture<'a, ()>,
}

/// Waits for `check`, and panics instead of waiting for ever.
pub async fn within(check: impl Future<Output = ()>) {
    let limit = Duration::from_secs(120);
    tokio::time::timeout(limit, check)
        .await
        .expect("a behaviour hangs: it is far behind any time it may need");
}

/// Makes a tokio test of each behaviour, over the [`Subject`] that the expression makes. The crate that uses it depends on
/// tokio, with its runtime for several threads and its macros.
#[macro_export]
macro_rules! conformance_tests {
    ($subject:expr) => {
        $crate::conformance_list!(conformance_tests_each($subject));
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests_each {
    (($subject:expr) $($name:ident)*) => {
        $(
            #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let mut subject = $subject;
                $crate::conformance::within($crate::conformance::$name(&mut subject)).await;
            }
        )*
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_behaviours {
    (() $($name:ident)*) => {
        /// Every behaviour of the suite.
        pub const BEHAVIOURS: &[Behaviour] = &[$(
            Behaviour { name: stringify!($name), check: |subject| Box::pin(super::$name(subject)) },
        )*];
    };
}

// The one list. A test holds it against the functions there are.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_list {
    ($make:ident $with:tt) => {
        $crate::$make! {
            $with
            a_new_store_is_empty
            a_new_store_shares_nothing_with_an_older_one
            create_if_absent_creates
            create_of_what_exists_is_refused_with_what_is_there
            a_put_over_a_key_keeps_its_creation
            a_put_after_a_delete_is_a_creation
            a_put_of_the_same_value_takes_a_revision
            a_delete_answers_the_last_state
            a_delete_of_what_is_absent_takes_no_revision
            a_transaction_without_operations_is_a_question
            revisions_rise
            any_bytes_are_a_value
            any_text_is_a_key
            a_delete_at_a_revision_needs_that_revision
            without_a_condition_everything_happens
            at_is_the_revision_of_the_value
            at_needs_an_entry
            what_came_back_is_not_what_was
            unchanged_holds_while_the_entry_is_the_same
            unchanged_fails_after_a_change
            unchanged_guards_an_absent_key
            unchanged_is_about_the_state
            unchanged_since_a_compacted_revision_is_never_wrong
            unchanged_since_the_compaction_is_exact
            unchanged_since_the_future_does_not_hold
            the_first_condition_that_fails_is_told
            conditions_are_about_the_state_before
            a_key_may_have_several_conditions
            a_guard_is_not_touched
            a_transaction_has_one_revision
            what_changes_nothing_is_not_told
            a_refused_transaction_has_no_effect
            keys_can_change_places
            a_repeated_key_is_refused
            a_full_transaction_is_done_whole
            as_many_operations_as_may_be_are_taken
            one_operation_more_is_refused
            an_empty_key_is_refused
            too_large_a_key_is_refused
            too_large_a_value_is_refused
            too_large_a_transaction_is_refused
            the_quota_has_a_way_out
            beyond_the_quota_what_is_there_can_be_marked
            old_versions_count_for_the_quota
            more_watches_than_may_run_are_refused
            a_list_at_each_revision_is_what_was
            a_list_at_each_revision_is_the_same_in_pages
            a_key_at_each_revision_is_what_it_was
            a_read_at_a_revision_is_the_same_for_ever
            a_read_of_the_future_is_refused
            a_page_tells_its_revision_and_the_newest
            an_empty_list_is_of_now
            a_read_sees_every_write_before_it
            one_key_is_not_a_prefix
            a_prefix_ends_where_it_ends
            a_prefix_of_high_bytes_ends_too
            what_was_deleted_is_there_in_the_past
            a_list_has_as_many_pages_as_it_needs
            what_lies_behind_a_page_is_counted
            pages_are_of_one_moment_while_writes_go_on
            a_cursor_outlives_its_key
            a_cursor_that_was_compacted_is_refused
            a_cursor_at_the_compaction_goes_on
            a_range_begins_behind_any_key
            a_rare_key_is_one_page
            keys_of_other_times_do_not_count
            a_watch_from_the_first_revision_yields_everything
            a_watch_from_zero_leaves_nothing_out
            a_watch_from_now_yields_what_comes
            a_watch_resumes_from_every_revision
            a_watch_that_is_resumed_after_each_change_misses_nothing
            a_watch_of_the_future_is_refused
            a_watch_of_what_is_compacted_is_refused
            a_revision_is_told_whole_and_in_order
            a_watch_hears_only_of_its_span
            a_running_watch_hears_only_of_its_span
            an_event_tells_before_and_after
            an_event_of_the_past_tells_before_and_after
            a_delete_is_told_with_the_last_state
            a_list_and_a_watch_after_it_are_everything
            all_watches_hear_the_same
            a_wait_that_is_given_up_loses_nothing
            who_waits_is_woken
            a_rare_change_is_found_among_many
            a_watch_that_is_dropped_is_gone
            many_spans_are_told_apart
            an_idle_watch_gets_a_mark
            a_mark_comes_after_a_wait_in_vain
            a_mark_comes_after_all_changes_before_it
            marks_are_in_step_with_the_changes
            a_watch_resumes_from_a_mark
            many_requests_are_no_harm
            a_late_reader_gets_everything
            a_slow_watch_is_ended_and_has_no_gap
            a_slow_watch_can_begin_anew
            a_slow_watch_harms_nobody
            fifty_watches_that_are_not_read_block_nobody
            a_quiet_watch_outlives_compaction
            only_those_behind_the_compaction_are_ended
            reads_below_a_compaction_are_refused
            a_compaction_is_not_a_change
            compaction_never_removes_what_lives
            a_compaction_can_be_repeated
            the_future_cannot_be_compacted
            all_that_was_can_be_compacted
            a_compaction_on_a_delete_loses_no_delete
            a_watch_at_the_compaction_hears_of_the_next_delete
            events_behind_a_compaction_tell_what_was_before
            compaction_while_watches_lag_makes_no_gap
            marks_stay_in_step_while_compacting
            a_read_beside_a_compaction_is_right_or_refused
            a_reopened_store_holds_what_it_held
            an_empty_store_is_reopened_empty
            a_reopened_store_knows_its_history
            a_watch_resumes_in_the_reopened_store
            no_revision_is_used_again
            a_compaction_does_not_take_the_revision_back
            a_compaction_outlives_the_end
            conditions_hold_over_the_end
            large_and_small_transactions_outlive_the_end
            counting_together_loses_no_step
            one_of_many_creators_wins
            sixty_four_clients_lose_nothing
            readers_see_whole_transactions
            what_is_acknowledged_is_seen_by_others
            a_commit_that_is_given_up_is_whole
            many_keys_are_all_there
            reads_and_watches_that_are_given_up_harm_nobody
        }
    };
}

conformance_list!(conformance_behaviours());
