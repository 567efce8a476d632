//! Logs of a program, for its first minute.

use std::str::FromStr;

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Variable with the filter, as of `env_logger`.
const VARIABLE: &str = "RUST_LOG";

/// Writes the logs of the program to standard error: warnings and errors of all crates, and the
/// level `info` of this one; or those of the filter in `RUST_LOG`, such as
/// `info,machinery_informers=debug`. Without a subscriber, failed reconciles are visible only in
/// diagnostics.
///
/// Call it first in `main`. It does nothing if the program has installed a subscriber of `tracing`
/// already. An invalid filter is reported, and replaced by the default.
pub fn logs() {
    let filter = std::env::var(VARIABLE).ok().map(|text| (Targets::from_str(&text), text));
    let (filter, invalid) = match filter {
        None => (default_filter(), None),
        Some((Ok(filter), _)) => (filter, None),
        Some((Err(error), text)) => (default_filter(), Some((error, text))),
    };
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(std::io::stderr);
    if tracing_subscriber::registry().with(layer.with_filter(filter)).try_init().is_ok()
        && let Some((error, filter)) = invalid
    {
        tracing::warn!(%filter, %error, "{VARIABLE} is no filter of logs, and is ignored");
    }
}

fn default_filter() -> Targets {
    // A prefix of the targets of all our crates.
    Targets::new().with_default(LevelFilter::WARN).with_target("machinery", LevelFilter::INFO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn failed_reconciles_pass_the_default_filter() {
        let filter = default_filter();
        assert!(filter.would_enable("machinery_controllers::controller::worker", &Level::WARN));
        assert!(filter.would_enable("machinery_controllers::controller::run", &Level::INFO));
        assert!(!filter.would_enable("hyper", &Level::INFO) && filter.would_enable("hyper", &Level::WARN));
    }
}
