//! Makes a write take effect in the server before the client has the response.

use super::{definitions, webhooks};
use crate::admission;
use crate::kind::Kind;
use crate::refusal::Refusal;
use crate::server::Shared;

/// Rebuilds the registry after a write of a definition, and the webhooks after a write of a
/// configuration. Other writes need nothing.
pub(crate) async fn after_write(shared: &Shared, kind: &Kind) -> Result<(), Refusal> {
    if kind.defines_kinds {
        definitions::reconcile(shared).await?;
    }
    if &*kind.group == admission::GROUP {
        webhooks::reconcile(shared).await?;
    }
    Ok(())
}
