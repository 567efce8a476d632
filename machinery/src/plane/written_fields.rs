//! The fields that controllers declare to write. Pure, but for the registry.

use machinery_controllers::ControllerDiagnostics;
use machinery_objects::Kind;
use machinery_sync::Mutex;

use super::error::PlaneError;

/// A path of field names, such as `status.address`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldPath(Box<str>);

impl FieldPath {
    /// Parses a path. Labels and annotations are named in brackets: `metadata.labels[a.b/c]`.
    pub(super) fn new(text: &str) -> Result<Self, PlaneError> {
        let is_path = !text.is_empty() && text.split('.').all(|name| !name.is_empty() && !name.contains(' '));
        if is_path { Ok(Self(text.into())) } else { Err(PlaneError::FieldPath { text: text.to_owned() }) }
    }

    /// Returns whether one of the two is the other, or below it.
    fn overlaps(&self, other: &Self) -> bool {
        let is_below = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        is_below(&self.0, &other.0) || is_below(&other.0, &self.0)
    }
}

/// The declared fields of a plane's controllers.
#[derive(Default)]
pub(super) struct WrittenFields(Mutex<Vec<DeclaredFields>>);

struct DeclaredFields {
    controller: ControllerDiagnostics,
    kind: Kind,
    fields: Vec<FieldPath>,
}

impl WrittenFields {
    /// Declares the fields of a controller, unless another one that exists has declared one of
    /// them.
    pub(super) fn declare(
        &self,
        controller: &ControllerDiagnostics,
        name: &str,
        writes: Vec<(Kind, Vec<FieldPath>)>,
    ) -> Result<(), PlaneError> {
        let mut all = self.0.lock();
        all.retain(|declared| declared.controller.name().is_some());
        for (kind, fields) in &writes {
            for other in all.iter().filter(|other| other.kind == *kind) {
                let overlap = fields.iter().find(|field| other.fields.iter().any(|of| of.overlaps(field)));
                if let Some(field) = overlap {
                    return Err(PlaneError::FieldWritten {
                        field: field.0.to_string(),
                        kind: kind.to_string(),
                        controller: name.to_owned(),
                        other: other.controller.name().unwrap_or_default(),
                    });
                }
            }
        }
        let declared = |(kind, fields)| DeclaredFields { controller: controller.clone(), kind, fields };
        all.extend(writes.into_iter().map(declared));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_overlaps_itself_and_the_fields_below_it() {
        let check = |one: &str, other: &str, expected: bool| {
            let (one, other) = (FieldPath::new(one).unwrap(), FieldPath::new(other).unwrap());
            assert_eq!((one.overlaps(&other), other.overlaps(&one)), (expected, expected));
        };
        check("status", "status", true);
        check("status", "status.address", true);
        check("status.address", "status.addresses", false);
        check("status.a", "status.b", false);
        check("metadata.labels", "metadata.labels[a.b/c]", true);
        for wrong in ["", ".", "status.", "a b"] {
            assert!(matches!(FieldPath::new(wrong), Err(PlaneError::FieldPath { .. })), "{wrong:?}");
        }
    }
}
