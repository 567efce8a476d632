//! Any writes and any misbehaviour, in any order, in virtual time: what the cache and its handlers must be after each.

mod handlers;
mod run;
mod truth;
mod walk;
