//! Differential tests: answers must equal those of the genuine Kubernetes API machinery, except
//! where a case declares a difference.

#[path = "../differential/runner/mod.rs"]
mod runner;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use machinery_apiserver::{ApiServer, Body, Encryption, Identity, Service};
use machinery_store::{Memory, Options};
use runner::applies;
use runner::case::{self, Theme};
use runner::client::{CaseClient, Opened, Piece, Pieces, Request};
use runner::compare::{self, Whose};
use runner::hooks::{self, Hooks};
use runner::record::Record;
use runner::run;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::runtime::Runtime;
use tower_service::Service as _;

use crate::admission::hook::{Hook, Reply};

#[test]
fn answers_equal_the_recorded_ones() {
    answers(None);
}

/// The same cases, with all values encrypted in the store.
#[test]
fn answers_equal_the_recorded_ones_on_an_encrypted_store() {
    answers(Some(crate::encryption::all("k")));
}

fn answers(encryption: Option<Encryption>) {
    let (mut wrong, mut report, mut cases, mut requests) = (BTreeSet::new(), String::new(), 0, 0);
    for name in case::themes().unwrap() {
        let theme = Theme::read(&name).unwrap();
        let record = Record::read(&name).unwrap();
        assert!(record.stale(&theme).is_empty(), "record {name} again: {:?}", record.stale(&theme));
        let mut client = Ours::start(theme.hooks, encryption.clone());
        requests += theme.requests();
        let prepared = run::prepare(&theme, &mut client);
        for case in &theme.cases {
            cases += 1;
            let title = format!("{name}: {}", case.name);
            if let Err(error) = &prepared {
                let _ = writeln!(report, "{title}\n  {error}");
                wrong.insert(title);
                continue;
            }
            let played = run::play(&theme, case, &mut client);
            let recorded = &record.cases[&case.name].answers;
            let differences = compare::differences(case, Whose::Ours, recorded, &played.answers);
            if differences.is_empty() && played.trouble.is_none() {
                continue;
            }
            let _ = writeln!(report, "{title}");
            for difference in &differences {
                let _ = writeln!(report, "{difference}");
            }
            if let Some(trouble) = played.trouble {
                let _ = writeln!(report, "  {trouble}");
            }
            wrong.insert(title);
        }
    }
    println!("{cases} cases of {requests} requests, {} wrong", wrong.len());
    if let Ok(path) = std::env::var("DIFFERENTIAL_REPORT") {
        std::fs::write(path, &report).unwrap();
    }
    assert!(wrong.is_empty(), "{report}\nthese differ: {wrong:#?}");
    assert!(requests >= 300, "{requests}");
}

/// The recorded sequences, or those of a `cargo xtask record applies` that is in progress.
#[test]
fn random_applies_equal_the_recorded_ones() {
    let (record, asked) = match std::env::var("APPLIES_RECORDED") {
        Ok(path) => (
            serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap(),
            std::env::var("APPLIES_SEQUENCES").unwrap().parse().unwrap(),
        ),
        Err(_) => (Record::read(applies::NAME).unwrap(), applies::KEPT),
    };
    assert_eq!(record.cases.len() as u64, asked);
    let theme = applies::theme(0..asked).unwrap();
    assert!(record.stale(&theme).is_empty(), "record applies again");
    let mut client = Ours::start(false, None);
    run::prepare(&theme, &mut client).unwrap();
    let (mut wrong, mut report, mut met) = (0, String::new(), Met::default());
    for case in &theme.cases {
        let played = run::play(&theme, case, &mut client);
        let recorded = &record.cases[&case.name].answers;
        recorded.iter().for_each(|answer| met.note(answer));
        let differences = compare::differences(case, Whose::Ours, recorded, &played.answers);
        if differences.is_empty() && played.trouble.is_none() {
            continue;
        }
        wrong += 1;
        if wrong <= 5 {
            let _ = writeln!(report, "{} {:?}", case.name, played.trouble);
            for difference in differences.iter().take(6) {
                let _ = writeln!(report, "{difference}");
            }
        }
    }
    println!("{} sequences of {} requests, {wrong} wrong; {met:?}", theme.cases.len(), theme.requests());
    assert_eq!(wrong, 0, "{report}");
    let Met { conflicts, forced, shared, versions, recreated } = met;
    let asked = usize::try_from(asked).unwrap();
    assert!(conflicts >= asked, "{conflicts} in {asked} sequences");
    assert!(forced >= asked / 2 && versions >= asked / 2, "{forced}, {versions} in {asked} sequences");
    assert!(shared >= asked / 10 && recreated >= asked / 10, "{shared}, {recreated} in {asked} sequences");
}

/// Coverage of the random applies: without it, equality would prove little.
#[derive(Debug, Default)]
struct Met {
    conflicts: usize,
    /// Applies by force that came to something.
    forced: usize,
    /// Objects with a field that two managers applied.
    shared: usize,
    /// Number of objects with two managers that wrote in different versions.
    versions: usize,
    /// Objects that were made after the first of a sequence.
    recreated: usize,
}

impl Met {
    fn note(&mut self, answer: &Value) {
        let (status, body) = (&answer["status"], &answer["body"]);
        let count = |counted: &mut usize, it: bool| *counted += usize::from(it);
        count(&mut self.conflicts, body["details"]["causes"][0]["reason"] == "FieldManagerConflict");
        let forced = answer["to"].as_str().is_some_and(|to| to.ends_with("&force=true"));
        count(&mut self.forced, forced && *status == 200);
        let entries = body["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
        let any_two = |one: &dyn Fn(&Value, &Value) -> bool| {
            entries.iter().enumerate().any(|(at, a)| entries[..at].iter().any(|b| one(a, b)))
        };
        let both_applied = |a: &Value, b: &Value| a["operation"] == "Apply" && b["operation"] == "Apply";
        count(&mut self.shared, any_two(&|a, b| both_applied(a, b) && share(&a["fieldsV1"], &b["fieldsV1"])));
        count(&mut self.versions, any_two(&|a, b| a["apiVersion"] != b["apiVersion"]));
        count(&mut self.recreated, *status == 201 && body["metadata"]["uid"] != "<uid:1>");
    }
}

/// Returns whether a field is in both sets.
fn share(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return false };
    a.iter().any(|(name, below)| {
        let leaf = |below: &Value| below.as_object().is_some_and(serde_json::Map::is_empty);
        b.get(name).is_some_and(|other| leaf(below) && leaf(other) || share(below, other))
    })
}

struct Ours {
    runtime: Arc<Runtime>,
    service: Service,
    /// The service for authenticated clients.
    open: Service,
    webhooks: Option<Hook>,
    _server: ApiServer,
}

impl Ours {
    fn start(hooks: bool, encryption: Option<Encryption>) -> Self {
        let runtime = Arc::new(Runtime::new().unwrap());
        // The genuine machinery has no garbage collection: it is another program there.
        let builder = ApiServer::builder(Memory::new(Options::default())).without_garbage_collection();
        let builder = match encryption {
            Some(encryption) => builder.encryption(encryption),
            None => builder,
        };
        let server = runtime.block_on(builder.start()).unwrap();
        let (service, open) = (server.service(Identity::admin()), server.open_service());
        let webhooks = hooks.then(|| runtime.block_on(Hook::of(Hooks::read().unwrap().replies)));
        let mut ours = Self { service, open, webhooks, runtime, _server: server };
        if hooks {
            ours.configure();
        }
        ours
    }

    fn configure(&mut self) {
        let webhooks = self.webhooks.as_ref().unwrap();
        let at = format!("https://127.0.0.1:{}/hook", webhooks.address.port());
        let bundle = webhooks.bundle();
        for configuration in Hooks::read().unwrap().configurations() {
            let plural = format!("{}s", configuration["kind"].as_str().unwrap().to_lowercase());
            let text = configuration.to_string().replace(hooks::HOOK, &at).replace(hooks::BUNDLE, &bundle);
            let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
            let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
            let request = Request { method: "POST".into(), path, headers, body: Some(text.into_bytes()) };
            assert_eq!(self.send(&request).status(), 201, "{configuration}");
        }
    }

    /// Returns the webhook calls for objects of a namespace.
    fn seen(&self, namespace: &str) -> Opened {
        let seen = self.webhooks.iter().flat_map(Hook::reviews);
        let of = seen.filter(|(_, review)| review["request"]["namespace"] == namespace);
        let of: Vec<_> = of.map(|(path, review)| json!({"hook": hook_of(&path), "review": review})).collect();
        let bytes = json!({"seen": of}).to_string().into_bytes();
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Opened { status: 200, headers, pieces: Box::new(Whole(Some(bytes))) }
    }

    fn send(&mut self, request: &Request) -> http::Response<Body> {
        let mut built = http::Request::builder().method(request.method.as_str()).uri(&*request.path);
        for (name, value) in &request.headers {
            built = built.header(name, value);
        }
        let body = Full::new(Bytes::from(request.body.clone().unwrap_or_default()));
        let request = built.body(body).unwrap();
        let open = request.headers().contains_key(http::header::AUTHORIZATION);
        let service = if open { &mut self.open } else { &mut self.service };
        self.runtime.block_on(service.call(request)).unwrap()
    }
}

impl CaseClient for Ours {
    fn open(&mut self, request: &Request) -> runner::Result<Opened> {
        if let Some(namespace) = request.path.strip_prefix("/hook/seen?namespace=") {
            return Ok(self.seen(namespace));
        }
        let response = self.send(request);
        let (head, body) = response.into_parts();
        let headers = head.headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let (status, headers) = (head.status.as_u16(), headers.collect());
        Ok(Opened { status, headers, pieces: Box::new(Coming { runtime: self.runtime.clone(), body }) })
    }

    fn namespace(&mut self, name: &str) -> runner::Result<()> {
        let namespace =
            serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let body = Some(namespace.to_string().into_bytes());
        let request = Request { method: "POST".into(), path: "/api/v1/namespaces".into(), headers, body };
        match self.send(&request).status().as_u16() {
            201 | 409 => Ok(()),
            other => Err(format!("the namespace {name} was refused: {other}").into()),
        }
    }
}

impl Hook {
    /// A server that answers by the table, by the last segment of the path.
    async fn of(replies: BTreeMap<String, Value>) -> Self {
        let certificate = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        Self::showing(certificate, move |path, review| reply(&replies[hook_of(path)], review)).await
    }
}

fn hook_of(path: &str) -> &str {
    path.split('?').next().unwrap().trim_start_matches("/hook/")
}

fn reply(said: &Value, review: &Value) -> Reply {
    if said["sleep-ms"].is_number() {
        return Reply::Nothing;
    }
    if said["end"] == true {
        return Reply::End;
    }
    let code = said["code"].as_u64().unwrap_or(200).try_into().unwrap();
    if let Some(raw) = said["raw"].as_str() {
        return Reply::Bytes(code, raw.into());
    }
    let mut response = json!({"uid": review["request"]["uid"]});
    response.as_object_mut().unwrap().extend(said["response"].as_object().cloned().unwrap_or_default());
    if let Some(patch) = said.get("patch") {
        response["patch"] = STANDARD.encode(patch.to_string()).into();
    }
    let mut answer =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    answer.as_object_mut().unwrap().extend(said["review"].as_object().cloned().unwrap_or_default());
    Reply::Bytes(code, answer.to_string().into_bytes())
}

struct Whole(Option<Vec<u8>>);

impl Pieces for Whole {
    fn next(&mut self, _: Duration) -> runner::Result<Piece> {
        Ok(self.0.take().map_or(Piece::End, Piece::Bytes))
    }
}

struct Coming {
    runtime: Arc<Runtime>,
    body: Body,
}

impl Pieces for Coming {
    fn next(&mut self, patience: Duration) -> runner::Result<Piece> {
        let frame = async { tokio::time::timeout(patience, self.body.frame()).await };
        Ok(match self.runtime.block_on(frame) {
            Err(_) => Piece::Late,
            Ok(None) => Piece::End,
            Ok(Some(Ok(frame))) => {
                Piece::Bytes(frame.into_data().map(|bytes| bytes.to_vec()).unwrap_or_default())
            }
            Ok(Some(Err(never))) => match never {},
        })
    }
}
