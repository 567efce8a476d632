//! Options of deletions.

use serde_json::{Map, Value, json};

use super::Query;
use super::body::head;
use super::write::wrong_dry_run;
use crate::invalid::{FieldError, Problem, invalid};
use crate::json::type_name;
use crate::refusal::Refusal;

/// Options of a deletion. Omitted ones have the defaults of the kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period_seconds: Option<i64>,
    /// The propagation policy.
    pub(crate) propagation: Option<Propagation>,
    /// The deprecated predecessor of [`Self::propagation`]. Never both.
    pub(crate) orphan_dependents: Option<bool>,
    /// Precondition: the object's UID.
    pub(crate) uid: Option<String>,
    /// Precondition: the object's resourceVersion.
    pub(crate) resource_version: Option<String>,
    pub(crate) dry_run: bool,
}

/// The propagation policy: the fate of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// The options as decoded, before validation.
#[derive(Default)]
struct Raw {
    grace_period_seconds: Option<i64>,
    propagation: Option<String>,
    orphan_dependents: Option<bool>,
    uid: Option<String>,
    resource_version: Option<String>,
    dry_run: Vec<String>,
}

impl DeleteOptions {
    /// Parses the options from the body, or from the query if there is no body.
    pub(crate) fn parse(query: &Query, body: Option<&Value>) -> Result<Self, Refusal> {
        let raw = match body {
            Some(body) => Raw::from_body(body)?,
            None => Raw::from_query(query)?,
        };
        raw.check()
    }
}

impl DeleteOptions {
    /// The options as an object of this kind, for admission webhooks.
    pub(crate) fn value(&self) -> Value {
        let mut options = json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"});
        if let Some(seconds) = self.grace_period_seconds {
            options["gracePeriodSeconds"] = seconds.into();
        }
        if let Some(orphan) = self.orphan_dependents {
            options["orphanDependents"] = orphan.into();
        }
        if let Some(propagation) = self.propagation {
            options["propagationPolicy"] = format!("{propagation:?}").into();
        }
        for (field, text) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
            if let Some(text) = text {
                options["preconditions"][field] = text.as_str().into();
            }
        }
        if self.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        options
    }
}

impl Raw {
    fn from_query(query: &Query) -> Result<Self, Refusal> {
        Ok(Self {
            grace_period_seconds: query.number("gracePeriodSeconds")?,
            propagation: query.first("propagationPolicy").map(str::to_owned),
            orphan_dependents: query.choice("orphanDependents"),
            uid: query.text("uid").map(str::to_owned),
            resource_version: query.text("resourceVersion").map(str::to_owned),
            dry_run: query.all("dryRun").map(str::to_owned).collect(),
        })
    }

    /// Clients name it as a kind of many groups, or not at all.
    fn from_body(body: &Value) -> Result<Self, Refusal> {
        let (version, kind) = head(body).map_err(Refusal::bad_request)?;
        if !["", "DeleteOptions"].contains(&kind.as_str()) {
            return Err(Refusal::bad_request(format!(
                "no kind {kind:?} is registered for version {version:?}: the body of a delete is a DeleteOptions"
            )));
        }
        let nothing = Map::new();
        let body = body.as_object().unwrap_or(&nothing);
        let preconditions = match body.get("preconditions") {
            None | Some(Value::Null) => &nothing,
            Some(Value::Object(preconditions)) => preconditions,
            Some(other) => return Err(field_mismatch(other, "preconditions", "v1.Preconditions")),
        };
        Ok(Self {
            grace_period_seconds: number(body, "gracePeriodSeconds")?,
            propagation: text(body, "propagationPolicy", "propagationPolicy")?,
            orphan_dependents: boolean(body, "orphanDependents")?,
            uid: text(preconditions, "uid", "preconditions.uid")?,
            resource_version: text(preconditions, "resourceVersion", "preconditions.resourceVersion")?,
            dry_run: texts(body, "dryRun")?,
        })
    }

    fn check(self) -> Result<DeleteOptions, Refusal> {
        let mut wrong = Vec::new();
        let policy = "propagationPolicy";
        let value = || json!(self.propagation);
        if self.orphan_dependents.is_some() && self.propagation.is_some() {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            wrong.push(FieldError::new(policy, Problem::Invalid(value()), why));
        }
        let propagation = match self.propagation.as_deref() {
            None => None,
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(_) => {
                let supported = r#"supported values: "Foreground", "Background", "Orphan", "nil""#;
                wrong.push(FieldError::new(policy, Problem::NotSupported(value()), supported));
                None
            }
        };
        let dry_run: Vec<&str> = self.dry_run.iter().map(String::as_str).collect();
        wrong.extend(wrong_dry_run(&dry_run));
        if !wrong.is_empty() {
            return Err(invalid("meta.k8s.io", "DeleteOptions", "", &wrong));
        }
        let Self { grace_period_seconds, orphan_dependents, uid, resource_version, dry_run, .. } = self;
        let dry_run = !dry_run.is_empty();
        Ok(DeleteOptions {
            grace_period_seconds,
            propagation,
            orphan_dependents,
            uid,
            resource_version,
            dry_run,
        })
    }
}

fn text(map: &Map<String, Value>, key: &str, path: &str) -> Result<Option<String>, Refusal> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(field_mismatch(other, path, "string")),
    }
}

fn texts(map: &Map<String, Value>, key: &str) -> Result<Vec<String>, Refusal> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| match item {
                Value::Null => Ok(String::new()),
                Value::String(text) => Ok(text.clone()),
                other => Err(field_mismatch(other, key, "string")),
            })
            .collect(),
        Some(other) => Err(field_mismatch(other, key, "[]string")),
    }
}

fn number(map: &Map<String, Value>, key: &str) -> Result<Option<i64>, Refusal> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_i64() {
            Some(number) => Ok(Some(number)),
            None => Err(field_mismatch(value, key, "int64")),
        },
    }
}

fn boolean(map: &Map<String, Value>, key: &str) -> Result<Option<bool>, Refusal> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(other) => Err(field_mismatch(other, key, "bool")),
    }
}

fn field_mismatch(value: &Value, path: &str, expected: &str) -> Refusal {
    mismatch(value, &format!("struct field DeleteOptions.{path} of type {expected}"))
}

fn mismatch(value: &Value, place: &str) -> Refusal {
    Refusal::bad_request(format!("json: cannot unmarshal {} into Go {place}", type_name(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_query(query: &str) -> Result<DeleteOptions, Refusal> {
        DeleteOptions::parse(&Query::parse(Some(query)).unwrap(), None)
    }

    fn from_body(body: &Value) -> Result<DeleteOptions, Refusal> {
        DeleteOptions::parse(&Query::parse(Some("dryRun=All&gracePeriodSeconds=9")).unwrap(), Some(body))
    }

    fn refused(found: Result<DeleteOptions, Refusal>, code: u16, message: &str) {
        let refusal = found.unwrap_err();
        assert_eq!((refusal.code, refusal.message.as_str()), (code, message));
    }

    #[test]
    fn from_a_query() {
        assert_eq!(from_query("").unwrap(), DeleteOptions::default());
        let options = from_query(
            "gracePeriodSeconds=0&propagationPolicy=Foreground&uid=u&resourceVersion=7&dryRun=All&pretty=true",
        );
        let expected = DeleteOptions {
            grace_period_seconds: Some(0),
            propagation: Some(Propagation::Foreground),
            orphan_dependents: None,
            uid: Some("u".into()),
            resource_version: Some("7".into()),
            dry_run: true,
        };
        assert_eq!(options.unwrap(), expected);
        assert_eq!(from_query("orphanDependents=false").unwrap().orphan_dependents, Some(false));
        refused(from_query("gracePeriodSeconds=x"), 400, r#"strconv.ParseInt: parsing "x": invalid syntax"#);
    }

    #[test]
    fn a_body_holds_alone() {
        assert_eq!(from_body(&json!({})).unwrap(), DeleteOptions::default());
        assert_eq!(from_body(&Value::Null).unwrap(), DeleteOptions::default());
        let body = json!({
            "kind": "DeleteOptions", "apiVersion": "example.com/v1", "gracePeriodSeconds": 3, "propagationPolicy": "Orphan",
            "preconditions": {"uid": "u", "resourceVersion": "7"}, "dryRun": ["All"], "unknown": 1,
            "orphanDependents": null, "ignoreStoreReadErrorWithClusterBreakingPotential": true,
        });
        let expected = DeleteOptions {
            grace_period_seconds: Some(3),
            propagation: Some(Propagation::Orphan),
            orphan_dependents: None,
            uid: Some("u".into()),
            resource_version: Some("7".into()),
            dry_run: true,
        };
        assert_eq!(from_body(&body).unwrap(), expected);
    }

    #[test]
    fn refusals() {
        let prefix = "DeleteOptions.meta.k8s.io \"\" is invalid:";
        let both = format!(
            "{prefix} propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set"
        );
        refused(from_query("orphanDependents=true&propagationPolicy=Orphan"), 422, &both);
        let unknown = format!(
            "{prefix} propagationPolicy: Unsupported value: \"x\": supported values: \"Foreground\", \"Background\", \
             \"Orphan\", \"nil\""
        );
        refused(from_body(&json!({"propagationPolicy": "x"})), 422, &unknown);
        let dry = format!("{prefix} dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"");
        refused(from_body(&json!({"dryRun": ["Some"]})), 422, &dry);
        let number = "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64";
        refused(from_body(&json!({"gracePeriodSeconds": "1"})), 400, number);
        assert!(from_body(&json!([])).unwrap_err().message.contains("json: cannot unmarshal array"));
        for body in [
            json!({"kind": "Pod"}),
            json!({"preconditions": 1}),
            json!({"dryRun": 1}),
            json!({"dryRun": [1]}),
            json!({"orphanDependents": 1}),
            json!({"gracePeriodSeconds": 1.5}),
            json!({"preconditions": {"uid": 1}}),
        ] {
            assert_eq!(from_body(&body).unwrap_err().code, 400, "{body}");
        }
    }
}
