//! Health checks.

use std::sync::Arc;

use http::Response;

use crate::http::{Body, answer};
use crate::refusal::Refusal;
use crate::request::Query;
use crate::server::Shared;

/// `/livez`, `/readyz`, `/healthz`, and single checks below them.
pub(super) async fn answer(
    shared: &Arc<Shared>,
    parts: &[&str],
    query: &Query,
) -> Result<Response<Body>, Refusal> {
    let store = shared.objects.revision().await.map(|_| ());
    let stopping = shared.stopping.is_cancelled();
    let mut checks = vec![("ping", Ok(())), ("store", store.map_err(|refusal| refusal.message))];
    if parts[0] == "readyz" {
        let writes = shared.objects.takes_writes().await;
        checks.push(("writes", writes.map_err(|refusal| refusal.message)));
        checks.push(("shutdown", if stopping { Err("the server is stopping".to_owned()) } else { Ok(()) }));
    }
    if let Some(only) = parts.get(1) {
        checks.retain(|(name, _)| name == only);
        if checks.is_empty() {
            return Ok(answer::nothing_there());
        }
    }
    let failed = checks.iter().any(|(_, state)| state.is_err());
    let (code, verbose) = (if failed { 500 } else { 200 }, query.first("verbose").is_some());
    if !failed && !verbose {
        return Ok(answer::bytes(200, "text/plain; charset=utf-8", Body::whole("ok")));
    }
    let mut text = String::new();
    for (name, state) in &checks {
        match state {
            Ok(()) => text.push_str(&format!("[+]{name} ok\n")),
            Err(why) => text.push_str(&format!("[-]{name} failed: {why}\n")),
        }
    }
    let said = if failed { "failed" } else { "passed" };
    text.push_str(&format!("{} check {said}\n", parts[0]));
    Ok(answer::bytes(code, "text/plain; charset=utf-8", Body::whole(text)))
}
