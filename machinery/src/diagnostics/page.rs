//! The diagnostics pages. Pure, except for reading the components.

use machinery_metrics::{Dashboard, markdown};
use serde_json::json;

use super::DiagnosticsRegistry;

/// A page: status, content type and body.
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) text: String,
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns the page at a path.
pub(super) fn page(diagnostics: &DiagnosticsRegistry, path: &str, query: &str) -> Page {
    match path {
        // Only conditions that a restart cures: a restart brings no missing server back.
        "/healthz" | "/livez" => health(&diagnostics.stuck(), &diagnostics.degraded()),
        "/readyz" => health(&diagnostics.unready(), &diagnostics.degraded()),
        "/metrics" => Page { status: 200, kind: METRICS, text: diagnostics.metrics() },
        "/debug/dashboard.json" => json_page(&dashboard().json(&diagnostics.descriptions())),
        "/debug/metrics.md" => {
            Page { status: 200, kind: TEXT, text: markdown(&diagnostics.descriptions()) }
        }
        "/debug/machinery.json" => match (argument(query, "kind"), argument(query, "object")) {
            (Some(kind), Some(object)) => json_page(&json!(diagnostics.explain(&kind, &object))),
            _ => json_page(&diagnostics.overview()),
        },
        _ => Page {
            status: 404,
            kind: TEXT,
            text:
                "there are /healthz, /readyz, /metrics, /debug/dashboard.json, /debug/metrics.md and /debug/machinery.json?kind=KIND&object=NS/NAME\n"
                    .into(),
        },
    }
}

fn dashboard() -> Dashboard {
    Dashboard::new("Machinery", "machinery")
}

/// Returns a health page: failed by `wrong`, and with the defects that a restart does not cure.
fn health(wrong: &[String], degraded: &[String]) -> Page {
    let (status, mut lines) = match (wrong, degraded) {
        ([], []) => (200, vec!["ok".to_owned()]),
        ([], _) => (200, vec!["degraded".to_owned()]),
        (wrong, _) => (503, wrong.to_vec()),
    };
    lines.extend_from_slice(degraded);
    Page { status, kind: TEXT, text: format!("{}\n", lines.join("\n")) }
}

fn json_page(value: &serde_json::Value) -> Page {
    Page { status: 200, kind: JSON, text: format!("{value:#}\n") }
}

/// Returns a percent-decoded query argument; `None` if it is not UTF-8.
fn argument(query: &str, name: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_arguments_are_percent_decoded() {
        let query = "kind=hosts&object=default%2Fdb-0&odd=%zz&last=a+b%C3%A4";
        let all = ["kind", "object", "odd", "last", "none"].map(|name| argument(query, name));
        let expected = [Some("hosts"), Some("default/db-0"), None, Some("a bä"), None];
        assert_eq!(all, expected.map(|text| text.map(String::from)));
    }

    #[test]
    fn defects_that_a_restart_does_not_cure_are_shown_and_fail_no_check() {
        let check = |wrong: &[&str], degraded: &[&str], status: u16, text: &str| {
            let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
            let page = health(&texts(wrong), &texts(degraded));
            assert_eq!((page.status, &*page.text), (status, text));
        };
        check(&[], &[], 200, "ok\n");
        check(&[], &["a"], 200, "degraded\na\n");
        check(&["w"], &["a"], 503, "w\na\n");
        check(&["w"], &[], 503, "w\n");
    }

    #[test]
    fn an_empty_plane_is_healthy() {
        let diagnostics = DiagnosticsRegistry::default();
        for (path, status) in [
            ("/healthz", 200),
            ("/readyz", 200),
            ("/metrics", 200),
            ("/debug/machinery.json", 200),
            ("/", 404),
        ] {
            assert_eq!(page(&diagnostics, path, "").status, status, "{path}");
        }
    }
}
