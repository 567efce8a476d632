//! Options of get, list and watch.

use std::num::NonZeroU64;
use std::time::Duration;

use machinery_objects::{FieldSelector, LabelSelector};
use serde_json::json;

use super::{ContinueToken, ListAt, Match, Query, field_selector, label_selector};
use crate::invalid::{FieldError, Problem, invalid};
use crate::refusal::Refusal;

/// The parameters of a list, a watch and the deletion of a collection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListOptions {
    pub(crate) labels: LabelSelector,
    /// Not yet checked against the kind's fields: [`super::check_fields`].
    pub(crate) fields: FieldSelector,
    /// Page size. Zero and less are no limit.
    pub(crate) limit: Option<NonZeroU64>,
    /// The revision of a list; unused in watches.
    pub(crate) at: ListAt,
    /// The requested revision; zero is any.
    pub(crate) revision: Option<u64>,
    pub(crate) bookmarks: bool,
    /// Whether a watch begins with the initial list. One without a revision does.
    pub(crate) initial_events: bool,
    seconds: Option<i64>,
}

/// The parameters of a get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GetOptions {
    /// The minimum revision; zero is any.
    pub(crate) revision: Option<u64>,
}

impl ListOptions {
    /// Parses list and watch options, and refuses contradictory ones. `watch`: whether the request
    /// is a watch.
    pub(crate) fn parse(query: &Query, watch: bool) -> Result<Self, Refusal> {
        let seconds = query.number("timeoutSeconds")?;
        let limit = query.number("limit")?.and_then(|limit| NonZeroU64::new(limit.try_into().unwrap_or(0)));
        let labels = query.text("labelSelector").map(label_selector).transpose()?.unwrap_or_default();
        let fields = query.text("fieldSelector").map(field_selector).transpose()?.unwrap_or_default();

        let wrong = if watch { wrong_for_watch(query) } else { wrong_for_list(query) };
        if !wrong.is_empty() {
            return Err(invalid("meta.k8s.io", "ListOptions", "", &wrong));
        }
        let meant = match query.text("resourceVersionMatch") {
            Some("Exact") => Some(Match::Exact),
            Some(_) => Some(Match::NotOlderThan),
            None => None,
        };
        let revision = revision(query)?;
        let at = match query.text("continue") {
            Some(token) => {
                let token = ContinueToken::decode(token)?;
                if revision.is_some_and(|revision| revision != 0) {
                    return Err(Refusal::bad_request(
                        "specifying resource version is not allowed when using continue",
                    ));
                }
                ListAt::After(token)
            }
            None => ListAt::of(revision, meant, limit.is_some()),
        };
        let from_nothing = meant.is_none() && matches!(revision, None | Some(0));
        let initial_events = watch && query.choice("sendInitialEvents").unwrap_or(from_nothing);
        let bookmarks = query.flag("allowWatchBookmarks");
        Ok(Self { labels, fields, limit, at, revision, bookmarks, initial_events, seconds })
    }

    /// How long a watch shall last, at most a year; at once over if that is negative. Zero leaves
    /// it to the server, as nothing does.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.seconds
            .filter(|&seconds| seconds != 0)
            .map(|seconds| Duration::from_secs(seconds.try_into().unwrap_or(0)).min(YEAR))
    }
}

/// The maximum timeout; much later deadlines overflow the clock.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

impl GetOptions {
    pub(crate) fn parse(query: &Query) -> Result<Self, Refusal> {
        revision(query).map(|revision| Self { revision })
    }
}

fn revision(query: &Query) -> Result<Option<u64>, Refusal> {
    query.text("resourceVersion").map(parse_revision).transpose()
}

/// A revision as a client has it from an object or a list.
pub(crate) fn parse_revision(text: &str) -> Result<u64, Refusal> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(revision) if plain => Ok(revision),
        parsed => {
            let why = if plain && parsed.is_err() { "value out of range" } else { "invalid syntax" };
            let why = format!("strconv.ParseUint: parsing {text:?}: {why}");
            let why = format!("resourceVersion: Invalid value: {text:?}: {why}");
            Err(Refusal::bad_request(format!("invalid resource version: {why}")))
        }
    }
}

fn wrong_for_list(query: &Query) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    if let Some(meant) = query.text("resourceVersionMatch") {
        let revision = query.text("resourceVersion");
        if revision.is_none() {
            wrong.push(forbidden(
                MATCH,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if query.text("continue").is_some() {
            wrong.push(forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if !["Exact", "NotOlderThan"].contains(&meant) {
            wrong.push(unknown_match(meant, r#"supported values: "Exact", "NotOlderThan", """#));
        }
        if meant == "Exact" && revision == Some("0") {
            wrong.push(forbidden(
                MATCH,
                r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#,
            ));
        }
    }
    if query.choice("sendInitialEvents").is_some() {
        wrong.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    wrong
}

fn wrong_for_watch(query: &Query) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let meant = query.text("resourceVersionMatch");
    let initial = query.choice("sendInitialEvents");
    if initial.is_some() && meant != Some("NotOlderThan") {
        wrong.push(forbidden(
            MATCH,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    if let Some(meant) = meant {
        if initial.is_none() {
            wrong.push(forbidden(
                MATCH,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        }
        if meant != "NotOlderThan" {
            wrong.push(unknown_match(meant, r#"supported values: "NotOlderThan""#));
        }
    }
    // This error has priority, with or without resourceVersionMatch.
    if query.text("continue").is_some() {
        wrong.push(forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
    }
    wrong
}

const MATCH: &str = "resourceVersionMatch";

fn forbidden(field: &str, why: &str) -> FieldError {
    FieldError::new(field, Problem::Forbidden, why)
}

fn unknown_match(value: &str, supported: &str) -> FieldError {
    FieldError::new(MATCH, Problem::NotSupported(json!(value)), supported)
}

#[cfg(test)]
mod tests;
