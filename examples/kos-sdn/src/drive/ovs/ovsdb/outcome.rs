//! Results of committed transactions.

use serde_json::Value;

use super::error::TransactError;
use super::row_uuid::RowUuid;
use super::session::short;
use super::transaction::{RowOperation, Transaction};

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

/// The expected form of the reply to a transaction.
#[derive(Debug)]
pub(super) struct ReplyForm {
    operations: Vec<ResultForm>,
    next_cfg: bool,
    lock: String,
}

#[derive(Clone, Copy, Debug)]
enum ResultForm {
    Uuid,
    Count,
    Empty,
}

impl ReplyForm {
    pub(super) fn new(transaction: &Transaction, lock: &str) -> Self {
        let form = |operation: &RowOperation| match operation {
            RowOperation::Insert { .. } => ResultForm::Uuid,
            RowOperation::Update { .. } | RowOperation::Mutate { .. } | RowOperation::Delete { .. } => {
                ResultForm::Count
            }
            RowOperation::Wait { .. } | RowOperation::Comment(_) => ResultForm::Empty,
        };
        let operations = transaction.operations().iter().map(form).collect();
        Self { operations, next_cfg: transaction.increments_next_cfg(), lock: lock.to_owned() }
    }

    /// Reads the reply to a transaction. An element for each operation is expected, and one more
    /// for an error of the commit. The elements after a failed operation are null.
    pub(super) fn read(&self, reply: Result<Value, Value>) -> Result<Committed, TransactError> {
        let result = match reply {
            Ok(Value::Array(result)) => result,
            Ok(_) => return Err(unknown("the result is no array")),
            Err(error) => return Err(refused(None, &error)),
        };
        let failed = result.iter().position(|element| element.get("error").is_some_and(|it| !it.is_null()));
        if let Some(index) = failed {
            return Err(self.failure(index, result.get(index).unwrap_or(&Value::Null)));
        }
        let spare = if self.next_cfg { 2 } else { 0 };
        // The first element belongs to the assertion of the lock.
        if result.len() != 1 + self.operations.len() + spare {
            return Err(unknown("the result has another number of elements than the transaction"));
        }
        let elements = self.operations.iter().zip(result.iter().skip(1));
        let results = elements.map(|(form, element)| form.read(element)).collect::<Result<_, _>>()?;
        let next_cfg = if self.next_cfg { Some(next_cfg(result.last())?) } else { None };
        Ok(Committed { results, next_cfg })
    }

    fn failure(&self, index: usize, element: &Value) -> TransactError {
        let Some(operation) = index.checked_sub(1) else {
            return TransactError::LockNotOwned { lock: self.lock.clone() };
        };
        if operation >= self.operations.len() {
            return refused(None, element);
        }
        if element.get("error").and_then(Value::as_str) == Some("timed out") {
            return TransactError::RowsChanged { operation };
        }
        refused(Some(operation), element)
    }
}

impl ResultForm {
    fn read(self, element: &Value) -> Result<OperationResult, TransactError> {
        let malformed = || unknown("an element of the result is malformed");
        match self {
            Self::Empty => Ok(OperationResult::Done),
            Self::Count => {
                element.get("count").and_then(Value::as_u64).map(OperationResult::Count).ok_or_else(malformed)
            }
            Self::Uuid => {
                let uuid = element.get("uuid").and_then(|pair| pair.get(1)?.as_str()?.parse().ok());
                uuid.map(OperationResult::Inserted).ok_or_else(malformed)
            }
        }
    }
}

fn next_cfg(element: Option<&Value>) -> Result<i64, TransactError> {
    let number = element.and_then(|element| element.get("rows")?.get(0)?.get("next_cfg")?.as_i64());
    number.ok_or_else(|| unknown("the database has no row Open_vSwitch: initialise it with ovs-vsctl init"))
}

fn refused(operation: Option<usize>, error: &Value) -> TransactError {
    let member = |name: &str| error.get(name).map(short).unwrap_or_default();
    match error.get("error") {
        Some(_) => TransactError::Refused { operation, error: member("error"), details: member("details") },
        None => TransactError::Refused { operation, error: short(error), details: String::new() },
    }
}

fn unknown(reason: &str) -> TransactError {
    TransactError::OutcomeUnknown { reason: reason.to_owned() }
}
