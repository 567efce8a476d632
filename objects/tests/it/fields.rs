//! Fields by name.

use machinery_objects::{Field, FieldSelector, Fields, NAME, NAMESPACE, RequirementError};

use crate::plane::Note;
use crate::report;

fn fields() -> Fields<Note> {
    let topic = Field::new("spec.topic", |note: &Note| (!note.topic.is_empty()).then(|| note.topic.clone()));
    Fields::new([topic.unwrap()])
}

#[test]
fn p06_every_kind_has_name_and_namespace_as_fields() {
    let note = Note::new("desk/a", "rust");
    let values = fields().of(&note);
    let all: Vec<_> = values.iter().collect();
    assert_eq!(all, [(NAME, "a"), (NAMESPACE, "desk"), ("spec.topic", "rust")]);
    assert_eq!(fields().of(&Note::new("a", "")).iter().collect::<Vec<_>>(), [(NAME, "a")]);

    let check = |selector: &str, expected: bool| {
        let selector: FieldSelector = selector.parse().unwrap();
        assert_eq!(fields().check(&selector), Ok(()));
        assert_eq!(selector.matches(&values), expected, "{selector}");
    };
    check("metadata.name=a,metadata.namespace=desk,spec.topic=rust", true);
    check("metadata.name!=a", false);
    check("metadata.namespace=", false);
    check("spec.topic!=go", true);
}

#[test]
fn p06_an_unknown_field_is_an_error() {
    let error = fields().check(&"spec.topic=x,spec.color=red".parse().unwrap()).unwrap_err();
    let known = "metadata.name, metadata.namespace, spec.topic";
    assert_eq!(report(&error), format!("there is no field `spec.color` to select by: there are {known}"));
    let unnameable = Field::new("a b", |_: &Note| None).unwrap_err();
    assert_eq!(unnameable, RequirementError::Field { text: "a b".into() });
}
