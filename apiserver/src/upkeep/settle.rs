//! What a write means for the server itself, before whoever wrote has the answer.

use super::{definitions, webhooks};
use crate::admission;
use crate::kind::Kind;
use crate::refusal::Refusal;
use crate::server::Shared;

/// Makes the kinds those of the definitions there are, and the webhooks those of the configurations, for somebody who has just written
/// one. After other writes there is nothing to do.
pub(crate) async fn settle(shared: &Shared, kind: &Kind) -> Result<(), Refusal> {
    if kind.defines_kinds {
        definitions::pass(shared).await?;
    }
    if &*kind.group == admission::GROUP {
        webhooks::pass(shared).await?;
    }
    Ok(())
}
