//! Adapter from the typed guards of a [`KindOf`](crate::KindOf) to the server's untyped ones.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::wrong::Wrong;
use crate::guard::{Guard, GuardedObject, GuardedWrite};
use crate::invalid::FieldError;

/// A typed guard, which decodes objects before each check.
pub(super) struct Beside<K, N, C> {
    pub(super) name: String,
    pub(super) keys: N,
    pub(super) check: C,
    pub(super) of: PhantomData<fn(K)>,
}

impl<K, N, C, I, W> Guard for Beside<K, N, C>
where
    K: DeserializeOwned + 'static,
    N: Fn(&K) -> I + Send + Sync + 'static,
    I: IntoIterator<Item = String>,
    W: Into<Wrong>,
    C: Fn(&K, &[Arc<K>]) -> Vec<W> + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn keys(&self, object: &Value) -> Vec<String> {
        K::deserialize(object).map(|typed| (self.keys)(&typed).into_iter().collect()).unwrap_or_default()
    }

    fn check(&self, write: &GuardedWrite, others: &[GuardedObject]) -> Vec<FieldError> {
        let object = write.object.value();
        let Ok(typed) = K::deserialize(object) else { return Vec::new() };
        let decode = |other: &GuardedObject| K::deserialize(other.value()).ok().map(Arc::new);
        let others: Vec<Arc<K>> = others.iter().filter_map(decode).collect();
        (self.check)(&typed, &others).into_iter().map(|wrong| wrong.into().into_field_error(object)).collect()
    }
}
