//! OVSDB (RFC 7047): the client of ovsdb-server, through which a fabric creates bridges and ports.
//!
//! - [`Database`] is the trait the fabric uses: a [`DatabaseSnapshot`] of typed [`Rows`], and
//!   [`Transaction`]s under the lock of the agent.
//! - [`fake`] simulates a database and a simple ovs-vswitchd, for tests without root.

pub mod fake;

mod condition;
mod database;
mod error;
mod outcome;
mod publisher;
mod row_store;
mod row_uuid;
mod rows;
mod snapshot;
mod tables;
mod transaction;
mod value;

pub use condition::{Condition, Function, Mutation, Mutator};
pub use database::{Database, applied};
pub use error::{ApplyError, TransactError};
pub use outcome::{Committed, OperationResult};
pub use row_uuid::{RowUuid, RowUuidError};
pub use rows::{BridgeRow, InterfaceRow, PortRow, RootRow, Rows};
pub use snapshot::{ConnectionState, DatabaseSnapshot, LockState};
pub use tables::{Column, ColumnKind, Table};
pub use transaction::{Operation, RowValues, Transaction};
pub use value::{Atom, Datum};
