//! The quotas of a namespace, and the record whose revision shows changes of them.
//!
//! The record exists exactly while the namespace has a quota. Each write that creates, changes or
//! deletes a quota also puts the record, or deletes it with the last quota. So a condition on the
//! record, or on its absence, is a condition on these quotas.

use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::{Condition, Entry, Key, Operation, Range, Value};

use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::Moment;
use crate::verbs::output::read;

/// The prefix of the records' keys. No key of an object begins with a slash.
const RECORDS: &str = "/quotas/";

/// The quotas of a namespace.
pub(crate) struct Quotas {
    pub(crate) at: Revision,
    /// The quotas, by name.
    pub(crate) all: Vec<Quota>,
}

pub(crate) struct Quota {
    pub(crate) entry: Arc<Entry>,
    pub(crate) object: serde_json::Value,
}

impl Quotas {
    /// Reads the current quotas.
    pub(crate) async fn of(shared: &Shared, namespace: &str) -> Result<Self, Refusal> {
        let kind = native::quota();
        let range = Range::of(kind.place.span(Some(namespace)));
        let listed = shared.objects.list(range, Moment::Newest).await?;
        let quota = |entry: Arc<Entry>| {
            let object = read(&kind, &entry, entry.modified)?;
            Ok(Quota { entry, object })
        };
        let all = listed.entries.into_iter().map(quota).collect::<Result<_, Refusal>>()?;
        Ok(Self { at: listed.at, all })
    }
}

/// The record of a namespace's quotas.
pub(super) struct QuotaRecord {
    key: Key,
    there: Option<Arc<Entry>>,
}

impl QuotaRecord {
    /// Reads the current record.
    pub(super) async fn of(shared: &Shared, namespace: &str) -> Result<Self, Refusal> {
        let key = Self::key(namespace);
        let there = shared.objects.get(&key, Moment::Newest).await?;
        Ok(Self { key, there })
    }

    fn key(namespace: &str) -> Key {
        format!("{RECORDS}{namespace}").into()
    }

    /// The quotas of a namespace are others from now on.
    pub(super) fn put(namespace: &str) -> Operation {
        Operation::Put(Self::key(namespace), Value::from(&b""[..]))
    }

    /// Returns the deletion of the record, for a namespace without quotas.
    pub(super) fn delete(namespace: &str) -> Operation {
        Operation::Delete(Self::key(namespace))
    }

    pub(super) const fn is_there(&self) -> bool {
        self.there.is_some()
    }

    /// Returns the condition that the record is unchanged.
    pub(super) fn unchanged(&self) -> Condition {
        match &self.there {
            Some(there) => Condition::At(self.key.clone(), there.modified),
            None => Condition::Absent(self.key.clone()),
        }
    }
}
