//! Bodies that would cost far more than they are long: each is refused soon, and in little memory.
//!
//! The server runs in its own process, so that its memory is not mixed up with the client's.

use std::time::Duration;

use tokio::time::Instant;

use super::process::Process;
use super::row::{ALL, BAD, INVALID, JSON, ONE, Row};
use super::{bodies, patches};

/// Memory that the server may use for one request, beyond its idle size.
const MEMORY: u64 = 32 << 20;
/// Memory that it may keep for the next request.
const KEPT: u64 = 2 << 20;
/// Ten times the promised time, and ten times that without optimization.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });

#[tokio::test]
async fn bombs_are_refused_quickly_and_in_little_memory() {
    let mut rows = [bodies::rows(), patches::rows()].concat();
    rows.retain(|row| row.length() > 32 << 10);
    rows.extend([bodies::yaml(), patches::bombs(), dense()].concat());
    let (mut wrong, mut server) = (Vec::new(), Process::start().await);
    for row in &rows {
        // Memory left from the previous request would hide the use of this one.
        if server.memory("VmRSS:") > server.base + KEPT {
            server = Process::start().await;
        }
        server.forget_peak();
        let mut soonest = Duration::MAX;
        // The machine is shared: a single late answer may be due to others.
        for _ in 0..3 {
            let began = Instant::now();
            let code = server.send(row).await;
            soonest = soonest.min(began.elapsed());
            let too_long = row.length() > 3 << 20;
            assert!(code.map_or(too_long, |code| (400..500).contains(&code)), "{code:?}: {row:?}");
            if soonest < TIME {
                break;
            }
        }
        let more = server.memory("VmHWM:").saturating_sub(server.base);
        if soonest > TIME || more > MEMORY {
            wrong.push(format!("{soonest:?}, {} KiB: {row:?}", more >> 10));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// As many values as there may be, where one is wrong; and more.
pub(super) fn dense() -> Vec<Row> {
    let widget = |spec: &str| {
        format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"n"}},"spec":{{"color":"pink",{spec}}}}}"#
        )
    };
    let list = |one: &str, count| format!("\"tags\":[{one}{}]", format!(",{one}").repeat(count));
    let fields: String = (0..99_900).map(|number| format!(r#""{number}":1,"#)).collect();
    let mut specs: Vec<_> = ["1", "[]", "{}", "\"a\""].iter().map(|one| list(one, 99_900)).collect();
    specs.extend([format!("\"x\":{{{fields}\"y\":1}}"), list("1", 1_500_000), list("{}", 1_000_000)]);
    let rows = specs.iter().flat_map(|spec| {
        let patch = format!("{{\"spec\":{{\"color\":\"pink\",{spec}}}}}");
        [
            Row::post(ALL, JSON, widget(spec), INVALID),
            Row::post(&format!("{ALL}?fieldValidation=Strict"), JSON, widget(spec), BAD),
            Row::post(ALL, "application/yaml", widget(spec), INVALID),
            Row::patch(ONE, "application/merge-patch+json", patch, INVALID),
        ]
    });
    rows.collect()
}
