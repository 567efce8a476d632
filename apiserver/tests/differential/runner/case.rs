//! The format of case files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::Result;

/// A file of cases.
#[derive(Debug)]
pub(crate) struct Theme {
    /// The file's name.
    pub(crate) name: String,
    /// The kinds that must be served before the first case: names of files in `kinds/`, and their
    /// contents.
    pub(crate) kinds: Vec<Value>,
    /// Texts that `${name}` stands for.
    pub(crate) names: BTreeMap<String, String>,
    /// Whether `metadata.managedFields` are compared.
    pub(crate) managed_fields: bool,
    /// Whether the webhooks of `hooks.yaml` are there.
    pub(crate) hooks: bool,
    pub(crate) cases: Vec<Case>,
}

/// Requests in order, in a namespace of their own: `${ns}`, which is the theme's name, a dash and
/// the case's.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// Further namespaces.
    pub(crate) namespaces: Vec<String>,
    /// Whether times are compared. Only where each write is in a second of its own.
    pub(crate) times: bool,
    pub(crate) steps: Vec<CaseStep>,
    /// A fingerprint of the requests and of the kept parts of answers.
    pub(crate) print: String,
}

/// One step of a case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CaseStep {
    /// A request whose answer is compared: `POST /path?query`.
    #[serde(rename = "do")]
    pub(crate) request: Option<String>,
    /// A request that has to succeed, and whose answer is not compared.
    pub(crate) given: Option<String>,
    /// The name under which an answered stream stays open.
    pub(crate) watch: Option<String>,
    /// Reads from the stream of that name.
    pub(crate) events: Option<String>,
    /// How many events to wait for.
    #[serde(default)]
    pub(crate) take: usize,
    /// The event that must follow them.
    #[serde(rename = "then")]
    pub(crate) after: Option<After>,
    /// Waits this long first.
    #[serde(default)]
    pub(crate) pause_ms: u64,
    /// A body, sent as JSON.
    pub(crate) send: Option<Value>,
    /// A body, sent as it is.
    pub(crate) raw: Option<String>,
    /// The body's type; `application/json` if there is a body and no type.
    #[serde(rename = "type")]
    pub(crate) content_type: Option<String>,
    /// `application/json` if omitted; no header if empty.
    pub(crate) accept: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Values of the answer for later: a name, and a place.
    #[serde(default)]
    pub(crate) save: BTreeMap<String, String>,
    /// Repeats the request until these places have these values; `status` is the HTTP status.
    #[serde(default)]
    pub(crate) until: BTreeMap<String, Value>,
    /// The only compared places of the body.
    #[serde(default)]
    pub(crate) only: Vec<String>,
    /// These places of the body are not compared.
    #[serde(default)]
    pub(crate) ignore: Vec<String>,
    /// Headers that are compared besides the usual ones.
    #[serde(default)]
    pub(crate) see: Vec<String>,
    /// We answer otherwise, on purpose.
    pub(crate) differs: Option<Differs>,
    /// A note for readers.
    #[serde(rename = "note")]
    _note: Option<String>,
}

/// The end of a stream, after the expected events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum After {
    /// The stream ends.
    End,
    /// Nothing, for a moment.
    Quiet,
}

/// An answer of ours that is not that of Kubernetes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Differs {
    /// The reason, for readers.
    pub(crate) why: String,
    /// The parts that our answer must have. Others are not compared.
    #[serde(default)]
    pub(crate) answer: Value,
    /// Instead: how the places end that are free. All others are as they were recorded.
    #[serde(default)]
    pub(crate) at: Vec<String>,
}

/// The directory of `cases/`, `kinds/` and `recorded/`.
pub(crate) fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../apiserver/tests/differential")
}

/// The themes' names, in order.
pub(crate) fn themes() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(home().join("cases"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "yaml") {
            names.extend(path.file_stem().map(|it| it.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

impl Theme {
    /// Reads the file of that name and the kinds that it needs.
    pub(crate) fn read(name: &str) -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        struct ThemeFile {
            #[serde(rename = "about")]
            _about: String,
            #[serde(default)]
            kinds: Vec<String>,
            #[serde(default)]
            names: BTreeMap<String, String>,
            #[serde(default)]
            managed_fields: bool,
            #[serde(default)]
            hooks: bool,
            cases: Vec<Value>,
        }
        let home = home();
        let file: ThemeFile = serde_json::from_value(yaml(&home.join("cases").join(format!("{name}.yaml")))?)
            .map_err(|error| format!("{name}: {error}"))?;
        let kinds = file.kinds.iter().map(|kind| Self::kind(kind));
        let kinds = kinds.collect::<Result<_>>()?;
        let cases = file.cases.iter().cloned().map(Case::parse).collect::<Result<_>>();
        let cases = cases.map_err(|error| format!("{name}: {error}"))?;
        let ThemeFile { names, managed_fields, hooks, .. } = file;
        Ok(Self { name: name.into(), kinds, names, managed_fields, hooks, cases })
    }

    /// The kind in the file of that name.
    pub(crate) fn kind(name: &str) -> Result<Value> {
        yaml(&home().join("kinds").join(format!("{name}.yaml")))
    }

    /// How many requests are compared.
    pub(crate) fn requests(&self) -> usize {
        self.cases.iter().flat_map(|case| &case.steps).filter(|step| step.request.is_some()).count()
    }
}

impl Case {
    /// Parses a case.
    pub(crate) fn parse(mut value: Value) -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct CaseText {
            #[serde(rename = "case")]
            name: String,
            #[serde(default)]
            namespaces: Vec<String>,
            #[serde(default)]
            times: bool,
            steps: Vec<CaseStep>,
        }
        let said: CaseText = serde_json::from_value(value.clone())
            .map_err(|error| format!("{}: {error}", value["case"].as_str().unwrap_or("a case")))?;
        for step in value["steps"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            step.remove("differs");
            step.remove("note");
        }
        let CaseText { name, namespaces, times, steps } = said;
        Ok(Self { name, namespaces, times, steps, print: print(&value.to_string()) })
    }
}

pub(super) fn yaml(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // `y` is a name here and nothing else.
    let options = serde_saphyr::options! { strict_booleans: true };
    Ok(serde_saphyr::from_str_with_options(&text, options)
        .map_err(|error| format!("{}: {error}", path.display()))?)
}

/// FNV-1a: it only distinguishes outdated records.
fn print(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}
