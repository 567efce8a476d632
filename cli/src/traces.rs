//! Export of request spans to a collector.

use machinery::otel::{Otlp, SubscriberExt as _, SubscriberInitExt as _, registry};

#[derive(clap::Args)]
pub(crate) struct TraceArgs {
    /// OpenTelemetry collector that receives a span per request, by OTLP over HTTP:
    /// http://127.0.0.1:4318. Default: OTEL_EXPORTER_OTLP_ENDPOINT, if spans can be sent there
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

/// The span exporter, if one is configured.
pub(crate) struct SpanExport(Option<Otlp>);

impl TraceArgs {
    /// Starts the exporter and installs it as the program's subscriber.
    pub(crate) fn start(&self) -> anyhow::Result<SpanExport> {
        let otlp = match (&self.otlp, Otlp::from_env()) {
            (Some(url), _) => Otlp::to(url).service("machinery").start()?,
            (None, None) => return Ok(SpanExport(None)),
            // The variable is not specific to this program: a bad value is reported, not fatal.
            (None, Some(start)) => match start.service("machinery").start() {
                Ok(otlp) => otlp,
                Err(error) => {
                    eprintln!("machinery: OTEL_EXPORTER_OTLP_ENDPOINT: {error}");
                    return Ok(SpanExport(None));
                }
            },
        };
        registry().with(otlp.layer()).try_init()?;
        Ok(SpanExport(Some(otlp)))
    }
}

impl SpanExport {
    /// Exports the remaining spans, and returns the error if that fails.
    pub(crate) async fn finish(self) -> Option<String> {
        self.0?.finish().await.err().map(|error| error.to_string())
    }
}
