//! In-process admission.

use async_trait::async_trait;
use serde_json::Value;
use thiserror::Error;

use super::Attributes;
use crate::refusal::Refusal;

/// An in-process admission plugin for writes of all kinds, over the wire and through handles.
///
/// Plugins run before webhooks: [`mutate`](Self::mutate) before the object is validated by its
/// schema, [`validate`](Self::validate) on the object to be stored. After a conflict both run again
/// on the new state, so they should have no side effects. A panic refuses the request and affects
/// no other.
///
/// A plugin can warn the client ([`Attributes::warn`]), annotate the audit log
/// ([`Attributes::annotate`]), and read other objects at one revision ([`Attributes::list_of`]):
///
/// ```
/// # #[cfg(feature = "k8s")]
/// # mod example {
/// use async_trait::async_trait;
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use machinery_apiserver::{Admission, Attributes, Denied, Operation};
///
/// struct TenSecrets;
///
/// #[async_trait]
/// impl Admission for TenSecrets {
///     fn name(&self) -> &str {
///         "secrets.example.com"
///     }
///
///     async fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Denied> {
///         if (attributes.resource, attributes.operation) != ("secrets", Operation::Create) {
///             return Ok(());
///         }
///         let secrets = attributes.list::<Secret>(attributes.namespace).await?.len();
///         let limits = attributes.get::<ConfigMap>(attributes.namespace, "limits").await?;
///         attributes.annotate("count", secrets.to_string());
///         match (secrets, limits) {
///             (..8, _) => Ok(()),
///             (8..10, _) => Ok(attributes.warn("there is room for ten Secrets")),
///             (_, Some(_)) => Err(Denied::new("there are ten Secrets: delete one")),
///             (_, None) => Ok(()),
///         }
///     }
/// }
/// # }
/// ```
///
/// Invariants of the program's own kinds belong into [`KindOf`](crate::KindOf), which also applies
/// to writes of the server-side controllers. Admission is not called for those.
#[async_trait]
pub trait Admission: Send + Sync + 'static {
    /// Returns the name: the prefix of its audit annotations, a DNS subdomain.
    fn name(&self) -> &str {
        "admission.machinery.dev"
    }

    /// Mutates a new or changed object. The result is normalized to its kind.
    async fn mutate(&self, _attributes: &Attributes<'_>, _object: &mut Value) -> Result<(), Denied> {
        Ok(())
    }

    /// Validates a write.
    async fn validate(&self, _attributes: &Attributes<'_>) -> Result<(), Denied> {
        Ok(())
    }
}

/// A refusal by admission.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Denied {
    code: u16,
    message: String,
}

impl Denied {
    /// Returns a 403 with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { code: 403, message: message.into() }
    }

    /// Sets another HTTP status between 400 and 599; any other value is 403.
    #[must_use]
    pub const fn code(mut self, code: u16) -> Self {
        self.code = if code < 400 || code > 599 { 403 } else { code };
        self
    }

    pub(crate) fn refusal(self, attributes: &Attributes<'_>) -> Refusal {
        let of = match attributes.group {
            "" => attributes.resource.to_owned(),
            group => format!("{}.{group}", attributes.resource),
        };
        let message = match self.code {
            403 => format!("{of} {:?} is forbidden: {}", attributes.name, self.message),
            _ => self.message,
        };
        let mut refusal = Refusal::new(self.code, super::reason::of_code(self.code), message);
        refusal.by_others = true;
        refusal.about.group = attributes.group.into();
        refusal.about.kind = attributes.resource.into();
        refusal.about.name = attributes.name.into();
        refusal
    }
}
