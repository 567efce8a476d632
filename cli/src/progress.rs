//! Progress of long operations: a line with the elapsed time on a terminal, a plain line elsewhere.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use tokio::time::{Instant, interval_at};

/// Shorter operations print nothing.
const DELAY: Duration = Duration::from_millis(500);

/// Runs `work` on a blocking thread, and shows `description` while it runs.
pub(crate) async fn with_progress<T: Send + 'static>(
    description: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<T> {
    let terminal = io::stderr().is_terminal();
    let mut work = tokio::task::spawn_blocking(work);
    let begun = Instant::now();
    let mut tick = interval_at(begun + DELAY, Duration::from_millis(100));
    let mut shown = false;
    let done = loop {
        tokio::select! {
            biased;
            done = &mut work => break done?,
            _ = tick.tick(), if terminal || !shown => {
                shown = true;
                let _ = match terminal {
                    true => write!(io::stderr(), "\r{description} … {:.1} s", begun.elapsed().as_secs_f32()),
                    false => writeln!(io::stderr(), "{description}"),
                };
            }
        }
    };
    if terminal && shown {
        // Erases the progress line.
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    Ok(done)
}
