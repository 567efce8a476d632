//! What is done about sealed values before anything is served.

use std::sync::Arc;

use machinery_store::Backend;
use machinery_store::sealed::{ResealError, Resealed, Sealed};

use super::config::Encryption;
use crate::server::{StartError, chance};

/// The store, with values that are sealed as the configuration says: all of them were opened, and are sealed by their first key now. Without a
/// configuration none may be sealed.
///
/// What was sealed otherwise cannot be read from then on, at no revision: the history before is compacted.
pub(crate) async fn begin(
    store: Arc<dyn Backend>,
    encryption: Option<Encryption>,
) -> Result<(Arc<dyn Backend>, Resealed), StartError> {
    let Some(encryption) = encryption else {
        let done = Sealed::new(store.clone(), |_| None, chance::fill).reseal().await.map_err(refused)?;
        return Ok((store, done));
    };
    let sealed = Sealed::new(store, move |key| encryption.ring(key), chance::fill);
    let done = sealed.reseal().await.map_err(refused)?;
    let Resealed { entries, rewritten, .. } = done;
    if rewritten > 0 {
        let now = sealed.revision().await.map_err(|error| StartError::Store(error.to_string()))?;
        sealed.compact(now).await.map_err(|error| StartError::Store(error.to_string()))?;
    }
    tracing::info!(entries, rewritten, "what is stored is sealed by the first key");
    Ok((Arc::new(sealed), done))
}

fn refused(error: ResealError) -> StartError {
    match error {
        ResealError::Unopened(unopened) => StartError::Sealed(unopened),
        other => StartError::Store(other.to_string()),
    }
}
