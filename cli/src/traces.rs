//! Spans of what is served, for a collector.

use machinery::otel::{Otlp, SubscriberExt as _, SubscriberInitExt as _, registry};

#[derive(clap::Args)]
pub(crate) struct TraceArgs {
    /// Send a span for each request to the collector of OpenTelemetry at this URL, by OTLP over HTTP: http://127.0.0.1:4318. Without it: to
    /// where OTEL_EXPORTER_OTLP_ENDPOINT says, if spans can be sent there
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

/// Spans on their way, if they are wanted.
pub(crate) struct SpanExport(Option<Otlp>);

impl TraceArgs {
    /// Begins. It is the program's one subscriber.
    pub(crate) fn start(&self) -> anyhow::Result<SpanExport> {
        let otlp = match (&self.otlp, Otlp::from_env()) {
            (Some(url), _) => Otlp::to(url).service("machinery").start()?,
            (None, None) => return Ok(SpanExport(None)),
            // It is said to all programs there are, and not to this one.
            (None, Some(start)) => match start.service("machinery").start() {
                Ok(otlp) => otlp,
                Err(error) => {
                    eprintln!("machinery: by OTEL_EXPORTER_OTLP_ENDPOINT: {error}");
                    return Ok(SpanExport(None));
                }
            },
        };
        registry().with(otlp.layer()).try_init()?;
        Ok(SpanExport(Some(otlp)))
    }
}

impl SpanExport {
    /// Sends what is left, and says why not.
    pub(crate) async fn finish(self) -> Option<String> {
        self.0?.finish().await.err().map(|error| error.to_string())
    }
}
