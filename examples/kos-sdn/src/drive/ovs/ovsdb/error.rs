//! Errors of transactions.

use std::time::Duration;

/// The reason why a transaction failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransactError {
    /// There is no connection, and nothing was sent: retry after the reconnect.
    #[error("the OVS database cannot be reached, and nothing was written: {reason}")]
    Disconnected {
        /// The cause.
        reason: String,
    },
    /// The connection broke after the transaction was sent: compare the rows after the reconnect.
    #[error(
        "the connection to the OVS database broke before the result of a transaction, which may have \
         been committed: {reason}; compare the rows before writing again"
    )]
    OutcomeUnknown {
        /// The cause.
        reason: String,
    },
    /// Another client holds the lock, so nothing was written.
    #[error("another client holds the lock {lock} of the OVS database: stop the other agent of this node")]
    LockNotOwned {
        /// Name of the lock.
        lock: String,
    },
    /// A `wait` found other values, so nothing was written: plan from the current rows.
    #[error("operation {operation} of the transaction expected other rows: plan from the current ones")]
    RowsChanged {
        /// Index of the operation.
        operation: usize,
    },
    /// The database refused the transaction, so nothing was written.
    #[error("the OVS database refused the transaction{}: {error}: {details}", place(*operation))]
    Refused {
        /// Index of the operation; `None` if the commit failed.
        operation: Option<usize>,
        /// The error of RFC 7047, such as `constraint violation`.
        error: String,
        /// Explanation by the database.
        details: String,
    },
    /// A text has a NUL character, which ovsdb-server rejects by closing the connection.
    #[error("a text of the transaction has a NUL character, which the OVS database cannot store: remove it")]
    NulInText,
    /// The transaction is larger than the limit, and was not sent.
    #[error("the transaction has {size} bytes, and the limit is {limit}: split it")]
    TooBig {
        /// Size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
}

fn place(operation: Option<usize>) -> String {
    operation.map_or_else(|| " at its commit".to_owned(), |index| format!(" in operation {index}"))
}

/// The reason why a configuration was not seen to be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// `cur_cfg` did not follow in time.
    #[error(
        "ovs-vswitchd has not applied configuration {next_cfg} within {limit:?}, but only {cur_cfg}: see \
         whether it runs, and its log"
    )]
    Late {
        /// The number waited for.
        next_cfg: i64,
        /// The latest number that was applied.
        cur_cfg: i64,
        /// The time limit.
        limit: Duration,
    },
    /// The database was replaced by another one, which does not have the configuration.
    #[error(
        "the OVS database was replaced before ovs-vswitchd applied configuration {next_cfg}: write again"
    )]
    Replaced {
        /// The number waited for.
        next_cfg: i64,
    },
}
