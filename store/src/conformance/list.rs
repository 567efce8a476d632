//! The list of all behaviours, which tests are generated from.

use std::future::Future;
use std::time::Duration;

use futures::future::BoxFuture;

use super::subject::Subject;

/// A behaviour of the suite: its name and its check.
#[derive(Clone, Copy)]
pub struct Behaviour {
    /// The name of its function.
    pub name: &'static str,
    /// The check; panics if the behaviour is missing.
    pub check: for<'a> fn(&'a mut dyn Subject) -> BoxFuture<'a, ()>,
}

/// Runs `check` with a timeout.
///
/// # Panics
///
/// After two minutes.
pub async fn within(check: impl Future<Output = ()>) {
    let limit = Duration::from_secs(120);
    tokio::time::timeout(limit, check)
        .await
        .expect("a behaviour hangs: it is far behind any time it may need");
}

/// Generates a tokio test of each behaviour, over the [`Subject`] that the expression creates. The
/// calling crate needs tokio with its multi-threaded runtime and macros.
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

// The only list; a test compares it with the functions.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_list {
    ($make:ident $with:tt) => {
        $crate::$make! {
            $with
            a_new_store_is_empty
            a_new_store_shares_nothing_with_an_older_one
            create_if_absent_creates
            create_of_an_existing_key_returns_the_current_entry
            a_put_over_a_key_keeps_its_creation
            a_put_after_a_delete_is_a_creation
            a_put_of_the_same_value_takes_a_revision
            a_delete_returns_the_last_state
            a_delete_of_an_absent_key_takes_no_revision
            a_transaction_without_operations_only_checks_conditions
            revisions_rise
            any_bytes_are_a_value
            any_text_is_a_key
            a_delete_at_a_revision_needs_that_revision
            without_a_condition_everything_happens
            at_is_the_revision_of_the_value
            at_needs_an_entry
            a_recreated_key_fails_conditions_on_the_old_one
            unchanged_holds_while_the_entry_is_the_same
            unchanged_fails_after_a_change
            unchanged_guards_an_absent_key
            unchanged_is_about_the_state
            unchanged_since_a_compacted_revision_is_never_wrong
            unchanged_since_the_compaction_is_exact
            unchanged_since_the_future_does_not_hold
            the_first_failed_condition_is_reported
            conditions_are_about_the_state_before
            a_key_may_have_several_conditions
            a_guard_is_not_touched
            a_transaction_has_one_revision
            no_op_operations_yield_no_events
            a_refused_transaction_has_no_effect
            keys_can_be_swapped
            a_repeated_key_is_refused
            a_transaction_at_the_limit_is_applied_whole
            operations_up_to_the_limit_are_accepted
            operations_beyond_the_limit_are_refused
            an_empty_key_is_refused
            too_large_a_key_is_refused
            too_large_a_value_is_refused
            too_large_a_transaction_is_refused
            the_quota_has_a_way_out
            existing_entries_can_be_marked_beyond_the_quota
            old_versions_count_for_the_quota
            watches_beyond_the_limit_are_refused
            a_list_at_each_revision_matches_the_past_state
            a_list_at_each_revision_is_the_same_in_pages
            a_key_at_each_revision_matches_the_past_state
            a_read_at_a_revision_is_the_same_for_ever
            a_read_of_the_future_is_refused
            a_page_has_its_revision_and_the_newest
            an_empty_list_is_at_the_newest_revision
            a_read_sees_every_write_before_it
            one_key_is_not_a_prefix
            a_prefix_ends_where_it_ends
            a_prefix_of_high_bytes_ends_too
            a_deleted_key_is_readable_at_past_revisions
            a_list_has_as_many_pages_as_it_needs
            entries_after_a_page_are_counted
            pages_are_of_one_revision_during_writes
            a_cursor_outlives_its_key
            a_cursor_that_was_compacted_is_refused
            a_cursor_at_the_compaction_goes_on
            a_range_begins_behind_any_key
            a_rare_key_is_one_page
            keys_of_other_revisions_do_not_count
            a_watch_from_the_first_revision_yields_everything
            a_watch_from_zero_has_no_gap
            a_watch_from_now_yields_later_changes_only
            a_watch_resumes_from_every_revision
            a_watch_that_is_resumed_after_each_change_misses_nothing
            a_watch_of_the_future_is_refused
            a_watch_of_a_compacted_revision_is_refused
            a_revision_is_yielded_whole_and_in_order
            a_watch_yields_only_keys_of_its_span
            a_running_watch_yields_only_keys_of_its_span
            an_event_has_the_state_before_and_after
            a_past_event_has_the_state_before_and_after
            a_delete_event_has_the_last_state
            a_list_and_a_watch_after_it_have_no_gap
            all_watches_yield_the_same_changes
            a_cancelled_wait_loses_no_change
            a_pending_watch_is_woken_by_its_change
            a_rare_change_is_found_among_many
            a_watch_that_is_dropped_is_gone
            overlapping_spans_are_distinguished
            an_idle_watch_gets_requested_progress
            progress_follows_a_pending_wait
            progress_follows_all_earlier_changes
            progress_is_ordered_with_the_changes
            a_watch_resumes_from_progress
            repeated_progress_requests_are_harmless
            a_late_reader_gets_everything
            a_slow_watch_is_ended_and_has_no_gap
            a_slow_watch_can_relist_and_restart
            a_slow_watch_does_not_affect_other_watches
            fifty_unread_watches_block_nobody
            an_idle_watch_outlives_compaction
            only_watches_behind_the_compaction_end
            reads_below_a_compaction_are_refused
            a_compaction_is_not_a_change
            compaction_never_removes_a_live_entry
            a_compaction_can_be_repeated
            the_future_cannot_be_compacted
            the_whole_history_can_be_compacted
            a_compaction_on_a_delete_loses_no_delete
            a_watch_at_the_compaction_yields_the_next_delete
            events_after_a_compaction_have_the_state_before
            compaction_while_watches_lag_makes_no_gap
            progress_stays_ordered_during_compaction
            a_read_beside_a_compaction_is_right_or_refused
            a_reopened_store_has_all_entries
            an_empty_store_is_reopened_empty
            a_reopened_store_has_its_history
            a_watch_resumes_in_the_reopened_store
            no_revision_is_used_again
            a_compaction_does_not_take_the_revision_back
            a_compaction_survives_a_reopen
            conditions_work_after_a_reopen
            large_and_small_transactions_survive_a_reopen
            concurrent_increments_lose_no_update
            one_of_many_creators_wins
            sixty_four_clients_lose_nothing
            readers_see_whole_transactions
            an_acknowledged_write_is_visible_to_others
            a_cancelled_commit_is_applied_whole_or_not
            many_keys_are_listed_and_found
            cancelled_reads_and_watches_are_harmless
        }
    };
}

conformance_list!(conformance_behaviours());
