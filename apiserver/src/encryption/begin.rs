//! Reseals stored values before the server starts.

use std::sync::Arc;

use machinery_store::Backend;
use machinery_store::sealed::{ResealError, Resealed, Sealed};

use super::config::Encryption;
use crate::server::{StartError, random};

/// Returns the store with encryption at rest, after resealing all values with their current first
/// keys. Without a configuration, no stored value may be sealed.
///
/// If values were rewritten, the history is compacted, so that no revision is readable with former
/// keys.
pub(crate) async fn begin(
    store: Arc<dyn Backend>,
    encryption: Option<Encryption>,
) -> Result<(Arc<dyn Backend>, Resealed), StartError> {
    let Some(encryption) = encryption else {
        // Sealed values without a key refuse the start, and not single requests later.
        let done = Sealed::new(store.clone(), |_| None, random::fill).reseal().await.map_err(refused)?;
        return Ok((store, done));
    };
    let sealed = Sealed::new(store, move |key| encryption.ring(key), random::fill);
    let done = sealed.reseal().await.map_err(refused)?;
    let Resealed { entries, rewritten, .. } = done;
    if rewritten > 0 {
        let now = sealed.revision().await.map_err(|error| StartError::Store(error.to_string()))?;
        sealed.compact(now).await.map_err(|error| StartError::Store(error.to_string()))?;
    }
    tracing::info!(entries, rewritten, "stored values are sealed by the first key");
    Ok((Arc::new(sealed), done))
}

fn refused(error: ResealError) -> StartError {
    match error {
        ResealError::Unseal(unopened) => StartError::Sealed(unopened),
        other => StartError::Store(other.to_string()),
    }
}
