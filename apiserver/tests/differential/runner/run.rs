//! Carries out the cases of a theme, one after the other, and keeps the answers in the form in
//! which they are compared.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Result;
use super::answer::{CaseAnswer, CaseStream, Line};
use super::case::{After, Case, CaseStep, Theme};
use super::client::{CaseClient, Request};
use super::expand::Names;
use super::normal::Normal;
use super::order;
use super::place;

/// The result of one case.
#[derive(Debug)]
pub(crate) struct Played {
    /// The answers of the compared steps, in order.
    pub(crate) answers: Vec<Value>,
    /// Why it did not go on.
    pub(crate) trouble: Option<String>,
}

/// Headers that are always compared.
const SEEN: [&str; 6] = ["allow", "content-type", "location", "retry-after", "warning", "www-authenticate"];

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Maximum length of a text that is compared literally.
const LONGEST: usize = 4000;

const EVENT: Duration = Duration::from_secs(6);
const QUIET: Duration = Duration::from_millis(700);
const AGAIN: Duration = Duration::from_millis(50);
const ATTEMPTS: usize = 300;

/// Has the kinds of a theme served. Any number of themes may need the same ones.
pub(crate) fn prepare(theme: &Theme, client: &mut impl CaseClient) -> Result<()> {
    for kind in &theme.kinds {
        let mut play = Play::new(theme, client, "prepare", false);
        let made = play.send(&request("POST", DEFINITIONS, Some(kind)))?;
        if !matches!(made.status, 201 | 409) {
            return Err(format!("a kind was refused: {}", made.shown()).into());
        }
        play.wait_for_kind(kind)?;
    }
    Ok(())
}

/// Plays one case.
pub(crate) fn play(theme: &Theme, case: &Case, client: &mut impl CaseClient) -> Played {
    let mut play = Play::new(theme, client, &case.name, case.times);
    let mut answers = Vec::new();
    let trouble = play.case(case, &mut answers).err().map(|error| error.to_string());
    Played { answers, trouble }
}

struct Play<'a, C> {
    client: &'a mut C,
    namespace: String,
    names: Names,
    normal: Normal,
    streams: BTreeMap<String, CaseStream>,
}

impl<'a, C: CaseClient> Play<'a, C> {
    fn new(theme: &Theme, client: &'a mut C, case: &str, times: bool) -> Self {
        let namespace = format!("{}-{case}", theme.name);
        let mut names = Names(theme.names.clone());
        names.set("ns", namespace.clone());
        let normal = Normal::new(times, theme.managed_fields);
        Self { client, namespace, names, normal, streams: BTreeMap::new() }
    }

    fn case(&mut self, case: &Case, answers: &mut Vec<Value>) -> Result<()> {
        self.client.namespace(&self.namespace)?;
        for namespace in &case.namespaces {
            self.client.namespace(&self.names.expand(namespace)?)?;
        }
        for (at, step) in case.steps.iter().enumerate() {
            let answer = self.step(step).map_err(|error| format!("step {}: {error}", at + 1))?;
            answers.extend(answer);
        }
        Ok(())
    }

    /// Runs one step. Returns the value to compare, if there is one.
    fn step(&mut self, step: &CaseStep) -> Result<Option<Value>> {
        sleep(Duration::from_millis(step.pause_ms));
        if let Some(name) = &step.events {
            return self.read(name, step).map(Some);
        }
        let Some(line) = step.request.as_ref().or(step.given.as_ref()) else { return Ok(None) };
        let request = self.request(line, step)?;
        if let Some(name) = &step.watch {
            let opened = self.client.open(&request)?;
            if opened.status == 200 {
                let answer = self.head(line, opened.status, &opened.headers, &step.see);
                self.streams.insert(name.clone(), CaseStream::new(opened.pieces));
                return Ok(Some(answer.into()));
            }
            let answer = CaseAnswer::read(opened)?;
            return self.answer(line, &answer, step).map(Some);
        }
        let answer = self.send_until(&request, step)?;
        if step.request.is_none() && answer.status >= 300 {
            return Err(format!("{line} has to succeed: {}", answer.shown()).into());
        }
        self.save(&answer, step)?;
        if step.request.is_some() { self.answer(line, &answer, step).map(Some) } else { Ok(None) }
    }

    fn request(&self, line: &str, step: &CaseStep) -> Result<Request> {
        let line = self.names.expand(line)?;
        let (method, path) = line.split_once(' ').ok_or_else(|| format!("no path in {line}"))?;
        let body = match (&step.send, &step.raw) {
            (Some(value), _) => Some(self.names.expand_in(value)?.to_string().into_bytes()),
            (None, Some(text)) => Some(self.names.expand(text)?.into_bytes()),
            (None, None) => None,
        };
        let mut headers = BTreeMap::from([("user-agent".to_owned(), "differential/1".to_owned())]);
        headers.insert("accept".into(), step.accept.clone().unwrap_or_else(|| "application/json".into()));
        if body.is_some() {
            headers.insert(
                "content-type".into(),
                step.content_type.clone().unwrap_or_else(|| "application/json".into()),
            );
        }
        for (name, value) in &step.headers {
            headers.insert(name.to_ascii_lowercase(), self.names.expand(value)?);
        }
        headers.retain(|_, value| !value.is_empty());
        Ok(Request {
            method: method.into(),
            path: encoded(path),
            headers: headers.into_iter().collect(),
            body,
        })
    }

    fn send(&mut self, request: &Request) -> Result<CaseAnswer> {
        CaseAnswer::read(self.client.open(request)?)
    }

    fn send_until(&mut self, request: &Request, step: &CaseStep) -> Result<CaseAnswer> {
        for _ in 1..ATTEMPTS {
            let answer = self.send(request)?;
            if self.is_as_expected(&answer, step)? {
                return Ok(answer);
            }
            sleep(AGAIN);
        }
        let answer = self.send(request)?;
        if self.is_as_expected(&answer, step)? {
            return Ok(answer);
        }
        Err(format!("{} {} never became as expected: {}", request.method, request.path, answer.shown())
            .into())
    }

    fn is_as_expected(&self, answer: &CaseAnswer, step: &CaseStep) -> Result<bool> {
        let body = answer.json().unwrap_or_default();
        for (place, expected) in &step.until {
            let found = if place == "status" {
                Some(json!(answer.status))
            } else {
                place::find(&body, &self.names.expand(place)?).cloned()
            };
            if found.unwrap_or_default() != self.names.expand_in(expected)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn save(&mut self, answer: &CaseAnswer, step: &CaseStep) -> Result<()> {
        let body = answer.json().unwrap_or_default();
        for (name, place) in &step.save {
            let value = place::find(&body, place)
                .ok_or_else(|| format!("nothing at {place} for {name}: {}", answer.shown()))?;
            self.names.set(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
        Ok(())
    }

    fn head(
        &mut self,
        line: &str,
        status: u16,
        headers: &[(String, String)],
        see: &[String],
    ) -> Map<String, Value> {
        let mut seen: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (name, value) in headers {
            if SEEN.contains(&name.as_str()) || see.contains(name) {
                seen.entry(name).or_default().push(self.normal.header(name, value).into());
            }
        }
        let one = |values: Vec<Value>| match <[Value; 1]>::try_from(values) {
            Ok([value]) => value,
            Err(values) => values.into(),
        };
        let headers: Map<_, _> =
            seen.into_iter().map(|(name, values)| (name.to_owned(), one(values))).collect();
        Map::from_iter([
            ("to".into(), line.into()),
            ("status".into(), status.into()),
            ("headers".into(), headers.into()),
        ])
    }

    fn answer(&mut self, line: &str, answer: &CaseAnswer, step: &CaseStep) -> Result<Value> {
        let mut compared = self.head(line, answer.status, &answer.headers, &step.see);
        match (answer.json(), std::str::from_utf8(&answer.bytes)) {
            (Some(body), _) => {
                let body = self.normal.body(&self.chosen(body, step)?);
                compared.insert("body".into(), body);
            }
            (None, Ok("")) => {}
            (None, Ok(text)) if text.len() > LONGEST => drop(compared.insert("text".into(), "<long>".into())),
            (None, Ok(text)) => drop(compared.insert("text".into(), self.normal.text(text).into())),
            // The stream's contents differ in each run; its start identifies it.
            (None, Err(_)) => drop(
                compared.insert("binary".into(), answer.bytes.iter().take(4).map(|b| json!(b)).collect()),
            ),
        }
        Ok(compared.into())
    }

    fn chosen(&self, mut body: Value, step: &CaseStep) -> Result<Value> {
        order::put(&mut body);
        for ignored in &step.ignore {
            place::remove(&mut body, &self.names.expand(ignored)?);
        }
        if step.only.is_empty() {
            return Ok(body);
        }
        let mut chosen = Map::new();
        for wanted in &step.only {
            let found = place::find(&body, &self.names.expand(wanted)?).cloned();
            chosen.insert(wanted.clone(), found.unwrap_or_else(|| "<absent>".into()));
        }
        Ok(chosen.into())
    }

    fn read(&mut self, name: &str, step: &CaseStep) -> Result<Value> {
        let mut stream = self.streams.remove(name).ok_or_else(|| format!("there is no watch {name}"))?;
        let mut events = Vec::new();
        let mut came = "in time";
        while events.len() < step.take {
            match stream.line(EVENT)? {
                Line::Event(event) => events.push(event),
                Line::End => came = "cut short",
                Line::Late => came = "late",
            }
            if came != "in time" {
                break;
            }
        }
        if came == "in time" {
            came = match step.after {
                None => "in time",
                Some(after) => match stream.line(if after == After::End { EVENT } else { QUIET })? {
                    Line::Event(event) => {
                        events.push(event);
                        "more"
                    }
                    Line::End => "end",
                    Line::Late => "quiet",
                },
            };
        }
        self.streams.insert(name.to_owned(), stream);
        let mut seen = Vec::new();
        for event in events {
            let event = self.chosen(event, step)?;
            seen.push(self.normal.body(&event));
        }
        Ok(json!({"to": format!("events of {name}"), "events": seen, "came": came}))
    }

    /// Until it is in discovery, and its lists are answered.
    fn wait_for_kind(&mut self, kind: &Value) -> Result<()> {
        let text =
            |place: &str| place::find(kind, place).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
        for version in kind["spec"]["versions"].as_array().into_iter().flatten() {
            if version["served"] != json!(true) {
                continue;
            }
            let path = format!("/apis/{group}/{}", version["name"].as_str().unwrap_or_default());
            self.wait(&path, |body| place::find(body, &format!("/resources/name={plural}")).is_some())?;
            self.wait(&format!("{path}/{plural}"), |body| body["items"].is_array())?;
        }
        Ok(())
    }

    fn wait(&mut self, path: &str, good: impl Fn(&Value) -> bool) -> Result<()> {
        for _ in 0..ATTEMPTS {
            if self.send(&request("GET", path, None))?.json().is_some_and(|body| good(&body)) {
                return Ok(());
            }
            sleep(AGAIN);
        }
        Err(format!("{path} is not served").into())
    }
}

fn request(method: &str, path: &str, body: Option<&Value>) -> Request {
    let headers = [("accept", "application/json"), ("content-type", "application/json")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Request { method: method.into(), path: path.into(), headers, body: body.map(|it| it.to_string().into()) }
}

/// Percent-encodes characters that a request line cannot have; the rest is up to the case.
fn encoded(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}#".contains(&byte) {
            encoded.push(byte.into());
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

#[expect(clippy::disallowed_methods, reason = "a server on a socket has no clock that could be moved")]
fn sleep(time: Duration) {
    if !time.is_zero() {
        std::thread::sleep(time);
    }
}
