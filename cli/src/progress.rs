//! Progress of long operations.

use std::time::Duration;

use machinery::report::Progress;
use tokio::time::sleep;

/// Shorter operations print nothing.
const DELAY: Duration = Duration::from_millis(500);

/// Runs `work` on a blocking thread, and shows `description` while it runs.
pub(crate) async fn with_progress<T: Send + 'static>(
    description: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<T> {
    let mut work = tokio::task::spawn_blocking(work);
    tokio::select! {
        biased;
        done = &mut work => return Ok(done?),
        () = sleep(DELAY) => {}
    }
    let mut progress = Progress::endless(description);
    progress.stage(description);
    Ok(work.await?)
}
