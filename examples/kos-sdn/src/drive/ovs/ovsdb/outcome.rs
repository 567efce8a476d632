//! Results of committed transactions.

use super::row_uuid::RowUuid;

/// The result of a committed transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// The results of the operations, in their order.
    pub results: Vec<OperationResult>,
    /// The configuration number that ovs-vswitchd will apply, if one was requested.
    pub next_cfg: Option<i64>,
}

/// The result of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationResult {
    /// The inserted row.
    Inserted(RowUuid),
    /// The number of selected rows.
    Count(u64),
    /// Done.
    Done,
}
