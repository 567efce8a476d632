//! Any writes and any misbehaviour, in any order, in virtual time: what the cache and its handlers must be after each.

mod handlers;
mod history;
mod run;
mod walk;
