//! Admission by the program itself.

use async_trait::async_trait;
use serde_json::Value;
use thiserror::Error;

use super::Attributes;
use crate::refusal::Refusal;

/// What the program says of objects that somebody wants to write, of whichever kind, over the wire or through a handle.
///
/// It is asked as webhooks are, and before them: [`mutate`](Self::mutate) before the object is held against its schema,
/// [`validate`](Self::validate) with what would be stored. If the object is changed by somebody else before it is stored, it is asked
/// again about what is there then, so it should do nothing but answer. A panic refuses the request, and harms no other.
///
/// What objects of a kind of the program's own *are* is said by its [`KindOf`](crate::KindOf), which also holds for what the server does of
/// itself: owned objects that go, namespaces that are emptied. About those nobody is asked here.
#[async_trait]
pub trait Admission: Send + Sync + 'static {
    /// Changes an object that is to be made or changed. What it makes of it is brought into the shape of its kind.
    async fn mutate(&self, _asked: &Attributes<'_>, _object: &mut Value) -> Result<(), Denied> {
        Ok(())
    }

    /// Says whether this may be done.
    async fn validate(&self, _asked: &Attributes<'_>) -> Result<(), Denied> {
        Ok(())
    }
}

/// It may not be done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Denied {
    code: u16,
    message: String,
}

impl Denied {
    /// 403, with this said.
    pub fn new(message: impl Into<String>) -> Self {
        Self { code: 403, message: message.into() }
    }

    /// Another HTTP status: one of those that say of a request that it failed.
    #[must_use]
    pub const fn code(mut self, code: u16) -> Self {
        self.code = if code < 400 || code > 599 { 403 } else { code };
        self
    }

    pub(super) fn refusal(self, asked: &Attributes<'_>) -> Refusal {
        let of = match asked.group {
            "" => asked.resource.to_owned(),
            group => format!("{}.{group}", asked.resource),
        };
        let message = match self.code {
            403 => format!("{of} {:?} is forbidden: {}", asked.name, self.message),
            _ => self.message,
        };
        let mut refusal = Refusal::new(self.code, super::reason::of_code(self.code), message);
        refusal.by_others = true;
        refusal.about.group = asked.group.into();
        refusal.about.kind = asked.resource.into();
        refusal.about.name = asked.name.into();
        refusal
    }
}
