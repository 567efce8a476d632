//! Regression: over HTTP/1.1, a response was lost that refused a request before its body was read,
//! because the server closed the connection while the client was still sending.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use machinery_apiserver::{Access, ApiServer, Identity, Listen};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use super::tools;

const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Repetitions of each upload: the loss is a race.
const TIMES: usize = 5;

/// A server with an administrator and a user without rights.
struct Refusing {
    server: ApiServer,
    access: Access,
    /// The token of the user without rights.
    other: String,
    ca: PathBuf,
    home: tempfile::TempDir,
}

impl Refusing {
    async fn start() -> Self {
        let server = ApiServer::builder(Memory::new(Options::default())).rbac().start().await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let mut listen = Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki"));
        let kubeconfig = home.path().join("other");
        listen.others.push((Identity::new("other"), kubeconfig.clone()));
        let access = server.listen(listen).await.unwrap();
        let text = std::fs::read_to_string(kubeconfig).unwrap();
        let other = text.lines().find_map(|line| line.trim().strip_prefix("token: ")).unwrap();
        let ca = home.path().join("pki/ca.crt");
        Self { server, access, other: other.trim_matches('"').to_owned(), ca, home }
    }

    /// Every kind of refusal that comes before the body is read, with each way to send a body.
    fn uploads(&self) -> Vec<Value> {
        const NAMED: &str = "/api/v1/namespaces/default/configmaps/a";
        const INVALID: &str = "/api/v1/namespaces/%ff/configmaps";
        let (admin, other) = (self.access.token.as_str(), self.other.as_str());
        let mut all = Vec::new();
        for (path, token, bytes, code) in [
            (MAPS, admin, 9 << 20, 413),
            (MAPS, "expired", 60 << 10, 401),
            (MAPS, "expired", 1 << 20, 401),
            (MAPS, "expired", 9 << 20, 401),
            (MAPS, other, 100 << 10, 403),
            (MAPS, other, 4 << 20, 403),
            (NAMED, admin, 4 << 20, 405),
            (INVALID, admin, 4 << 20, 400),
        ] {
            for (chunked, expect, kept) in
                [(false, false, false), (false, false, true), (true, false, true), (false, true, true)]
            {
                all.push(json!({
                    "method": "POST", "path": path, "token": token, "bytes": bytes, "code": code,
                    "chunked": chunked, "expect": expect, "kept": kept, "twoHosts": false, "times": TIMES,
                }));
            }
        }
        all
    }

    /// Runs a program that reads the uploads and prints those without a response.
    async fn run(self, mut program: Command, uploads: Vec<Value>) {
        program.env("URL", self.access.url.replace("127.0.0.1", "localhost"));
        program.env("CA", &self.ca).env("TOKEN", &self.access.token);
        let cases = self.home.path().join("cases");
        std::fs::write(&cases, Value::from(uploads).to_string()).unwrap();
        program.stdin(Stdio::from(std::fs::File::open(cases).unwrap()));
        let done = tokio::task::spawn_blocking(move || program.output().unwrap()).await.unwrap();
        let said = [done.stdout, done.stderr].concat();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
        self.server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn python_reads_the_refusal_of_an_upload() {
    let server = Refusing::start().await;
    if !tools::is_here("python3", &["python3", "-c", "import ssl"]) {
        return;
    }
    let mut program = Command::new("python3");
    program.arg(Path::new(CLIENTS).join("python/refused.py")).env("PYTHONDONTWRITEBYTECODE", "1");
    let mut uploads = server.uploads();
    // A request that is refused without its body, however short that is.
    let mut ambiguous = uploads[0].clone();
    for (name, value) in [("bytes", json!(300 << 10)), ("code", json!(400)), ("twoHosts", json!(true))] {
        ambiguous[name] = value;
    }
    uploads.push(ambiguous);
    server.run(program, uploads).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn go_reads_the_refusal_of_an_upload() {
    let source = Path::new(CLIENTS).join("refused");
    let program = tokio::task::spawn_blocking(move || tools::go_program(&source, "refused")).await.unwrap();
    let Some(program) = program else { return };
    let server = Refusing::start().await;
    let uploads = server.uploads();
    server.run(Command::new(program), uploads).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_reads_the_refusal_of_an_upload() {
    if !tools::is_here("curl", &["curl", "--version"]) {
        return;
    }
    let server = Refusing::start().await;
    let (mut lost, body) = (Vec::new(), server.home.path().join("body"));
    for upload in server.uploads() {
        std::fs::write(&body, vec![b'x'; usize::try_from(upload["bytes"].as_u64().unwrap()).unwrap()])
            .unwrap();
        let url = format!("{}{}", server.access.url, upload["path"].as_str().unwrap());
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--http1.1", "--max-time", "60"]);
        curl.args(["--output", "/dev/null", "--write-out", "%{http_code}\n", "--cacert"]).arg(&server.ca);
        curl.arg("--header").arg(format!("authorization: Bearer {}", upload["token"].as_str().unwrap()));
        curl.args(["--header", "content-type: application/json", "--header"]);
        curl.arg(if upload["expect"] == true { "expect: 100-continue" } else { "expect:" });
        if upload["chunked"] == true {
            curl.args(["--header", "transfer-encoding: chunked"]);
        }
        curl.arg("--data-binary").arg(format!("@{}", body.display())).arg(&url);
        // The same again, over a connection that is kept alive if the server allows it.
        let requests = if upload["kept"] == true { 2 } else { 1 };
        for _ in 1..requests {
            curl.args(["--output", "/dev/null"]).arg(&url);
        }
        let expected = upload["code"].to_string();
        for _ in 0..TIMES {
            let done = curl.output().unwrap();
            let codes = String::from_utf8_lossy(&done.stdout);
            if codes.lines().count() != requests || codes.lines().any(|code| code != expected) {
                lost.push(format!("{upload}: {codes:?} {}", String::from_utf8_lossy(&done.stderr)));
            }
        }
    }
    assert!(lost.is_empty(), "{} responses were lost:\n{}", lost.len(), lost.join("\n"));
    server.server.stop().await;
}
