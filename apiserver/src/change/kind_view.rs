//! A view of the other objects of a kind, for guards and quotas.

use std::sync::Arc;

use machinery_objects::Revision;

use super::ObjectWrite;
use crate::cache::View;
use crate::kind::Kind;
use crate::refusal::Refusal;

/// The objects of a write's kind at one revision of the watch cache.
pub(crate) struct KindView {
    /// In the stored version.
    pub(crate) kind: Arc<Kind>,
    pub(crate) view: View,
}

impl ObjectWrite<'_> {
    /// Returns a view of the kind at `least` or later, or a consistent read. Nothing is committed
    /// before, so after an error the write can be repeated safely.
    pub(crate) async fn kind_view(&self, least: Option<Revision>) -> Result<KindView, Refusal> {
        let kind = self.shared.kinds().at(self.key).cloned().ok_or_else(|| unserved(self.kind))?;
        let view = self.shared.view(&kind, least).await.map_err(|refusal| view_late(self.kind, refusal))?;
        Ok(KindView { kind, view })
    }

    /// Returns a consistent read of another kind, in its stored version.
    pub(crate) async fn view_of(&self, kind: &Arc<Kind>) -> Result<KindView, Refusal> {
        let view = self.shared.view(kind, None).await.map_err(|refusal| view_late(kind, refusal))?;
        Ok(KindView { kind: kind.clone(), view })
    }
}

/// 503: the kind is no longer served; nothing was committed.
pub(crate) fn unserved(kind: &Kind) -> Refusal {
    let message = format!("{} are not served any more, and nothing was written", kind.resource());
    Refusal { retry_after: Some(1), ..Refusal::new(503, "ServiceUnavailable", message) }
}

/// 503 instead of 504: the view was late, and nothing was committed.
fn view_late(kind: &Kind, refusal: Refusal) -> Refusal {
    if refusal.code != 504 {
        return refusal;
    }
    let message = format!(
        "what is beside it among {} is not known as of now, and nothing was written: try again",
        kind.resource()
    );
    Refusal { retry_after: Some(1), ..Refusal::new(503, "ServiceUnavailable", message) }
}
