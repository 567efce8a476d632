//! OVSDB (RFC 7047): the client of ovsdb-server, through which a fabric creates bridges and ports.
//!
//! - [`Database`] is the trait the fabric uses: a [`DatabaseSnapshot`] of typed [`Rows`], and
//!   [`Transaction`]s under the lock of the agent.
//! - [`OvsdbClient`] implements it; [`OvsdbRunner`] owns its connection.
//! - [`fake`] simulates a database and a simple ovs-vswitchd, for tests without root.

pub mod fake;

mod backoff;
mod cache;
mod client;
mod condition;
mod config;
mod connected;
mod database;
mod error;
mod fuzz;
mod outcome;
mod publisher;
mod row_store;
mod row_uuid;
mod rows;
mod runner;
mod schema;
mod session;
mod snapshot;
mod tables;
#[cfg(test)]
mod tests;
mod transaction;
mod updates;
mod value;

pub use client::OvsdbClient;
pub use condition::{Condition, Function, Mutation, Mutator};
pub use config::{LockName, LockNameError, OvsdbConfig};
pub use database::{Database, applied};
pub use error::{ApplyError, TransactError};
#[doc(hidden)]
pub use fuzz::{fuzz_bytes, fuzz_messages, sample_streams};
pub use outcome::{Committed, OperationResult};
pub use row_uuid::{RowUuid, RowUuidError};
pub use rows::{BridgeRow, InterfaceRow, PortRow, RootRow, Rows};
pub use runner::{ConnectionError, OvsdbRunner};
pub use session::SessionError;
pub use snapshot::{ConnectionState, DatabaseSnapshot, LockState};
pub use tables::{Column, ColumnKind, OvsdbTable};
pub use transaction::{RowOperation, RowValues, Transaction};
pub use value::{Atom, Datum};
