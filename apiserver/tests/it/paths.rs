//! Every path that two parsers could read differently: none gives access beyond the client's
//! rights.

use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use crate::rights::{server, who_may};

#[tokio::test]
async fn paths_are_read_once() {
    const HERE: &str = "/api/v1/namespaces/default/configmaps/a";
    const ELSEWHERE: [&str; 5] = [
        "/api/v1/namespaces/other/configmaps/a",
        "/api/v1/namespaces/default/secrets/a",
        "/api/v1/namespaces/other/configmaps",
        "/api/v1/configmaps",
        "/apis/example.com/v1/namespaces/default/widgets/a",
    ];
    let (server, admin) = server().await;
    admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "other"}})).await.fine();
    for place in ["default/configmaps", "default/secrets", "other/configmaps"] {
        let made = json!({"metadata": {"name": "a"}});
        admin.post(&format!("/api/v1/namespaces/{place}"), &made).await.fine();
    }
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]);
    let ann = who_may(&server, &admin, rules).await;
    let his = ann.get(HERE).await.fine();
    for path in ELSEWHERE {
        admin.get(path).await.fine();
    }

    let (mut asked, mut read) = (0, 0);
    let mut all: Vec<String> = ELSEWHERE.iter().flat_map(|path| written_otherwise(path)).collect();
    all.extend(written_otherwise(HERE));
    all.extend(detours(HERE));
    for path in all {
        let request = Request::get(&*path).body(Full::default());
        // No client can send it.
        let Ok(request) = request else { continue };
        let (head, body) = ann.send(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        asked += 1;
        if head.status == 200 {
            let found: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(found, his, "{path}");
            read += 1;
        }
        assert!(matches!(head.status.as_u16(), 200 | 400 | 403 | 404), "{path}: {}", head.status);
    }
    assert!(asked > 500, "{asked}");
    // A letter may be written as its number, of the place where he may read as well.
    assert!(read >= 7, "{read}");
}

/// The path, with each of its slashes and each of its segments in many forms.
fn written_otherwise(path: &str) -> Vec<String> {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let join = |segments: &[String]| format!("/{}", segments.join("/"));
    let plain: Vec<String> = segments.iter().map(ToString::to_string).collect();
    let mut all = vec![path.to_owned(), path.to_uppercase(), format!("http://localhost{path}")];
    for (at, segment) in segments.iter().enumerate() {
        let encoded = format!("%{:02x}{}", segment.as_bytes()[0], &segment[1..]);
        let twice = format!("%25{:02x}{}", segment.as_bytes()[0], &segment[1..]);
        let mut forms = vec![segment.to_uppercase(), encoded, twice];
        forms.extend(
            ["/", "./", "%2e/", "x/../", "x/%2e%2e/", "%2f", "%00"].map(|it| format!("{it}{segment}")),
        );
        forms.extend(
            ["/", ".", "..", "%2e", "%2f", "%5c", "%20", "%00", ";x", "%3f", "%23", "/.", "/..", "/%2E%2E"]
                .map(|it| format!("{segment}{it}")),
        );
        for form in forms {
            let mut written = plain.clone();
            written[at] = form;
            all.push(join(&written));
        }
        for between in ["//", "%2f", "%2F", "%252f", "\\", "%5c", "/./", "/%2e/"] {
            let (before, after) = plain.split_at(at);
            all.push(format!("{}{between}{}", join(before), after.join("/")));
        }
    }
    all
}

/// Returns paths from `from` to objects that the user may not read.
fn detours(from: &str) -> Vec<String> {
    let namespace = from.strip_suffix("/configmaps/a").unwrap();
    let mut all = Vec::new();
    for up in ["..", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "%252e%252e", "..;", "...", "%c0%ae%c0%ae"] {
        for slash in ["/", "//", "%2f", "%2F", "%252f", "%5c"] {
            all.push(format!("{namespace}{slash}{up}{slash}other/configmaps/a"));
            all.push(format!("{namespace}/configmaps{slash}{up}{slash}secrets/a"));
            all.push(format!("{from}{slash}{up}{slash}{up}{slash}secrets{slash}a"));
            all.push(format!("{from}{slash}{up}{slash}{up}{slash}{up}{slash}other/configmaps/a"));
        }
    }
    all
}
