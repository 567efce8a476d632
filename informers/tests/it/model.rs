//! A model of an informer: random writes and faults in virtual time, with invariants of cache and
//! handlers.

mod handlers;
mod history;
mod run;
mod walk;
