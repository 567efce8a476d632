//! Checks of a transaction that need no state of the store.

use std::sync::Arc;

use crate::contract::{CommitError, Key, Limits, Operation, Transaction};

/// Checks `transaction` against the limits.
pub(crate) fn check(transaction: &Transaction, limits: &Limits) -> Result<(), CommitError> {
    let Transaction { conditions, operations } = transaction;
    let count = conditions.len() + operations.len();
    if count > limits.operations {
        return Err(CommitError::TooManyOperations { count, limit: limits.operations });
    }
    let mut whole = 0;
    for key in conditions.iter().map(|condition| condition.key()) {
        whole += check_key(key, limits)?;
    }
    for operation in operations {
        whole += check_key(operation.key(), limits)?;
        if let Operation::Put(_, value) = operation {
            whole += at_most("value", value.len(), limits.value_bytes)?;
        }
    }
    at_most("transaction", whole, limits.transaction_bytes)?;
    check_repeats(operations)
}

fn check_key(key: &Key, limits: &Limits) -> Result<usize, CommitError> {
    if key.is_empty() {
        return Err(CommitError::EmptyKey);
    }
    at_most("key", key.len(), limits.key_bytes)
}

fn at_most(what: &'static str, bytes: usize, limit: usize) -> Result<usize, CommitError> {
    if bytes > limit { Err(CommitError::TooLarge { what, bytes, limit }) } else { Ok(bytes) }
}

fn check_repeats(operations: &[Operation]) -> Result<(), CommitError> {
    if operations.len() < 2 {
        return Ok(());
    }
    let mut keys: Vec<_> = operations.iter().map(Operation::key).collect();
    // One version per key and revision: the links between versions descend strictly.
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(CommitError::RepeatedKey { key: Arc::clone(pair[0]) }),
        None => Ok(()),
    }
}
