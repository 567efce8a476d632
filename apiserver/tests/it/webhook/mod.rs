//! Admission of the program as a webhook server, for API servers of others.

mod certificates;
mod fixture;
mod hooks;
mod invalid;
mod limits;
mod manifests;

use machinery_apiserver::ReviewPhase;

/// Returns the phase of a path.
fn phase(path: &str) -> ReviewPhase {
    if path == "/mutate" { ReviewPhase::Mutate } else { ReviewPhase::Validate }
}
