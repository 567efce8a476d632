//! What is beside an object, for who holds it against that.

use std::sync::Arc;

use machinery_objects::Revision;

use super::Change;
use crate::cache::View;
use crate::kind::Kind;
use crate::refusal::Refusal;

/// The objects of a change's kind.
pub(crate) struct Beside {
    /// In the version that is stored.
    pub(crate) kind: Arc<Kind>,
    pub(crate) view: View,
}

impl Change<'_> {
    /// The objects of its kind as of a revision or later; by default as of now. What is not known is no doubt about the change: nothing was
    /// written yet.
    pub(crate) async fn beside(&self, least: Option<Revision>) -> Result<Beside, Refusal> {
        let kind = self.shared.kinds().at(self.key).cloned().ok_or_else(|| unserved(self.kind))?;
        let view = self.shared.view(&kind, least).await.map_err(|refusal| unseen(self.kind, refusal))?;
        Ok(Beside { kind, view })
    }
}

/// 503: the kind went meanwhile, with the server.
pub(crate) fn unserved(kind: &Kind) -> Refusal {
    let message = format!("{} are not served any more, and nothing was written", kind.resource());
    Refusal { retry_after: Some(1), ..Refusal::new(503, "ServiceUnavailable", message) }
}

/// 503: what it is to be held against is not known in time, which is no doubt about the write.
fn unseen(kind: &Kind, refusal: Refusal) -> Refusal {
    if refusal.code != 504 {
        return refusal;
    }
    let message = format!(
        "what is beside it among {} is not known as of now, and nothing was written: try again",
        kind.resource()
    );
    Refusal { retry_after: Some(1), ..Refusal::new(503, "ServiceUnavailable", message) }
}
