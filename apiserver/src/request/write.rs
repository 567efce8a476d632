//! Options of create, update, patch and apply.

use serde_json::{Value, json};

use super::Query;
use crate::invalid::{FieldError, Problem, invalid};
use crate::json::is_printable;
use crate::refusal::Refusal;

/// How long the name of a manager may be, in bytes.
const MAX_MANAGER: usize = 128;

/// The parameters of a create, an update and a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteOptions {
    /// Everything is done but the last.
    pub(crate) dry_run: bool,
    pub(crate) field_manager: Option<String>,
    pub(crate) field_validation: FieldValidation,
    /// Whether an apply takes over conflicting fields of other managers.
    pub(crate) force: bool,
}

/// The treatment of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

impl WriteOptions {
    /// Parses the options of a create.
    pub(crate) fn create(query: &Query) -> Result<Self, Refusal> {
        Self::parse(query, "CreateOptions", Vec::new())
    }

    /// Parses the options of an update.
    pub(crate) fn update(query: &Query) -> Result<Self, Refusal> {
        Self::parse(query, "UpdateOptions", Vec::new())
    }

    /// Parses the options of a patch.
    pub(crate) fn patch(query: &Query) -> Result<Self, Refusal> {
        let forced = query.choice("force").map(|_| {
            FieldError::new("force", Problem::Forbidden, "may not be specified for non-apply patch")
        });
        Self::parse(query, "PatchOptions", forced.into_iter().collect())
    }

    /// Parses the options of an apply, which requires a field manager.
    pub(crate) fn apply(query: &Query) -> Result<Self, Refusal> {
        let missing = query
            .text("fieldManager")
            .is_none()
            .then(|| FieldError::new("fieldManager", Problem::Required, "is required for apply patch"));
        let options = Self::parse(query, "PatchOptions", missing.into_iter().collect())?;
        Ok(Self { force: query.flag("force"), ..options })
    }

    fn parse(query: &Query, kind: &str, mut wrong: Vec<FieldError>) -> Result<Self, Refusal> {
        let manager = query.text("fieldManager");
        wrong.extend(manager.map(wrong_manager).unwrap_or_default());
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        wrong.extend(wrong_dry_run(&dry_run));
        let field_validation = match query.text("fieldValidation") {
            None | Some("Warn") => FieldValidation::Warn,
            Some("Ignore") => FieldValidation::Ignore,
            Some("Strict") => FieldValidation::Strict,
            Some(other) => {
                let supported = r#"supported values: "", "Ignore", "Strict", "Warn""#;
                wrong.push(FieldError::new(
                    "fieldValidation",
                    Problem::NotSupported(json!(other)),
                    supported,
                ));
                FieldValidation::Warn
            }
        };
        if !wrong.is_empty() {
            return Err(invalid("meta.k8s.io", kind, "", &wrong));
        }
        let field_manager = manager.map(str::to_owned);
        Ok(Self { dry_run: !dry_run.is_empty(), field_manager, field_validation, force: false })
    }
}

/// The only way to run dry is wholly.
pub(super) fn wrong_dry_run(values: &[&str]) -> Option<FieldError> {
    values.iter().any(|&value| value != "All").then(|| {
        let values: Value = values.iter().copied().collect();
        FieldError::new("dryRun", Problem::NotSupported(values), r#"supported values: "All""#)
    })
}

fn wrong_manager(name: &str) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    if name.len() > MAX_MANAGER {
        let why = format!("may not be more than {MAX_MANAGER} bytes");
        wrong.push(FieldError::new("fieldManager", Problem::TooLong, why));
    }
    // Each of these errors has the whole name in it.
    for (at, char) in name.char_indices().filter(|&(_, char)| !is_printable(char)).take(10) {
        let why = format!("invalid character U+{:04X} (at position {at})", u32::from(char));
        wrong.push(FieldError::new("fieldManager", Problem::Invalid(json!(name)), why));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<WriteOptions, Refusal> {
        WriteOptions::patch(&Query::parse(Some(query)).unwrap())
    }

    fn refused(query: &str, why: &str) {
        let refusal = parse(query).unwrap_err();
        assert_eq!(refusal.code, 422);
        assert_eq!(refusal.message, format!("PatchOptions.meta.k8s.io \"\" is invalid: {why}"));
    }

    #[test]
    fn options() {
        assert_eq!(parse("fieldValidation=&fieldManager=&color=red"), Ok(WriteOptions::default()));
        let options = parse("dryRun=All&dryRun=All&fieldManager=me&fieldValidation=Strict").unwrap();
        let expected = WriteOptions {
            dry_run: true,
            field_manager: Some("me".into()),
            field_validation: FieldValidation::Strict,
            force: false,
        };
        assert_eq!(options, expected);
        let query = Query::parse(Some("force=true&fieldValidation=Ignore")).unwrap();
        let ignored = WriteOptions { field_validation: FieldValidation::Ignore, ..WriteOptions::default() };
        assert_eq!(WriteOptions::create(&query), Ok(ignored.clone()));
        assert_eq!(WriteOptions::update(&query), Ok(ignored));
    }

    #[test]
    fn refusals() {
        refused("dryRun=", r#"dryRun: Unsupported value: [""]: supported values: "All""#);
        refused("dryRun=All&dryRun=x", r#"dryRun: Unsupported value: ["All","x"]: supported values: "All""#);
        refused(
            "fieldValidation=strict",
            r#"fieldValidation: Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn""#,
        );
        refused("force=false", "force: Forbidden: may not be specified for non-apply patch");
        let long = format!("fieldManager={}", "a".repeat(129));
        refused(&long, "fieldManager: Too long: may not be more than 128 bytes");
        refused(
            "fieldManager=a%07",
            "fieldManager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)",
        );
    }
}
