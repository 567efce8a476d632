//! Selectors, refused in the words of Kubernetes.

use machinery_objects::{FieldSelector, LabelSelector, NAME, NAMESPACE, SelectorError};

use super::selector_text;
use crate::refusal::Refusal;

/// The fields of a kind that selectors may name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldLabels<'a> {
    /// Its name; its namespace, if it is in one; and these.
    These { namespaced: bool, fields: &'a [String] },
    /// Name and namespace, wherever it is: built-in kinds that have no others.
    Names,
}

/// Maximum number of requirements of a selector. Each is evaluated for each object of a list, and
/// for each change of a watched object.
const MAX_REQUIREMENTS: usize = 250;

/// A selector of labels, or 400.
pub(crate) fn label_selector(text: &str) -> Result<LabelSelector, Refusal> {
    let selector: LabelSelector = text.parse().map_err(|error: SelectorError| {
        Refusal::bad_request(
            selector_text::labels(text).unwrap_or_else(|| format!("unable to parse requirement: {error}")),
        )
    })?;
    check_length("label", selector.requirements().len())?;
    Ok(selector)
}

fn check_length(of: &str, requirements: usize) -> Result<(), Refusal> {
    if requirements <= MAX_REQUIREMENTS {
        return Ok(());
    }
    Err(Refusal::bad_request(format!(
        "the {of} selector has {requirements} requirements, and at most {MAX_REQUIREMENTS} are evaluated: \
         select a set of values by one requirement, as in \"key in (a,b)\", or send several requests"
    )))
}

/// Parses a field selector of any fields, or fails with 400.
pub(crate) fn field_selector(text: &str) -> Result<FieldSelector, Refusal> {
    let selector: FieldSelector = text.parse().map_err(|error: SelectorError| {
        Refusal::bad_request(
            selector_text::fields(text).unwrap_or_else(|| format!("invalid field selector: {error}")),
        )
    })?;
    check_length("field", selector.terms().len())?;
    Ok(selector)
}

/// 400 if a selector names a field that selectors of this kind cannot.
pub(crate) fn check_fields(selector: &FieldSelector, labels: FieldLabels<'_>) -> Result<(), Refusal> {
    let known = |field: &str| match labels {
        FieldLabels::These { namespaced, fields } => {
            field == NAME || (namespaced && field == NAMESPACE) || fields.iter().any(|known| known == field)
        }
        FieldLabels::Names => field == NAME || field == NAMESPACE,
    };
    let Some(term) = selector.terms().iter().find(|term| !known(term.field())) else { return Ok(()) };
    Err(Refusal::bad_request(match labels {
        FieldLabels::These { .. } => unsupported(term.field()),
        FieldLabels::Names => {
            format!("{:?} is not a known field selector: only {NAME:?}, {NAMESPACE:?}", term.field())
        }
    }))
}

pub(crate) fn unsupported(field: &str) -> String {
    format!("field label not supported: {field}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str, why: &str) {
        let refusal = label_selector(text).unwrap_err();
        assert_eq!((refusal.code, refusal.message.as_str()), (400, why));
    }

    fn fields(text: &str, labels: FieldLabels<'_>, why: &str) {
        let refusal = field_selector(text).and_then(|selector| check_fields(&selector, labels)).unwrap_err();
        assert_eq!((refusal.code, refusal.message.as_str()), (400, why));
    }

    #[test]
    fn valid_selectors_are_parsed() {
        assert!(label_selector("a,b in (c,d),!e,f notin (),g>1").is_ok());
        assert!(label_selector(" ").is_ok_and(|selector| selector.is_everything()));
        let more = ["spec.x".to_owned()];
        let kind = FieldLabels::These { namespaced: true, fields: &more };
        let selector = field_selector("metadata.name=a,metadata.namespace!=b,spec.x==c").unwrap();
        assert_eq!(check_fields(&selector, kind), Ok(()));
        assert_eq!(check_fields(&field_selector("").unwrap(), FieldLabels::Names), Ok(()));
    }

    #[test]
    fn long_selectors_are_refused_with_the_remedy() {
        let keys = |count: usize| (0..count).map(|at| format!("k{at}!=v")).collect::<Vec<_>>().join(",");
        assert!(label_selector(&keys(250)).is_ok() && field_selector(&keys(250)).is_ok());
        for refusal in [label_selector(&keys(251)).unwrap_err(), field_selector(&keys(251)).unwrap_err()] {
            let says = ["has 251 requirements, and at most 250", "key in (a,b)"];
            assert!(says.iter().all(|part| refusal.message.contains(part)), "{refusal}");
        }
        let set = format!("a in ({})", (0..5000).map(|at| format!("v{at}")).collect::<Vec<_>>().join(","));
        assert!(label_selector(&set).is_ok(), "a set is one requirement");
    }

    #[test]
    fn labels_are_refused_as_by_kubernetes() {
        labels("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
        labels("a in b", "unable to parse requirement: found 'b' expected: '('");
        labels("a in (b", "unable to parse requirement: found '', expected: ',' or ')'");
        labels("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'");
        labels("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier");
        labels("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier");
        labels("a=(b)", "unable to parse requirement: found '(', expected: identifier");
        labels("!", "unable to parse requirement: found '', expected: identifier");
        labels("!a=b", "found '=', expected: ',' or 'end of string'");
        labels("a=b c", "found 'c', expected: ',' or 'end of string'");
        labels("a,", "found '', expected: identifier after ','");
        labels("=a", "found '=', expected: !, identifier, or 'end of string'");
        labels(
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be \
             an integer",
        );
        labels(
            "a/b/c=d",
            "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric \
             characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  \
             or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an \
             optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        );
        labels(
            "a in (b, -)",
            "unable to parse requirement: values[0][a]: Invalid value: \"-\": a valid label must be an empty string or \
             consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
             (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        );
    }

    #[test]
    fn fields_are_refused_as_by_kubernetes() {
        let none = FieldLabels::These { namespaced: false, fields: &[] };
        fields("a", none, "invalid selector: 'a'; can't understand 'a'");
        fields("b=1,a", none, "invalid selector: 'b=1,a'; can't understand 'a'");
        fields("a=b=c", none, "invalid field selector: unescaped character in value: 61");
        fields(r"a=b\c", none, r"invalid field selector: invalid escape sequence: \c");
        fields(r"a=b\", none, r"invalid field selector: invalid escape sequence: \");
        fields("=b", none, "field label not supported: ");
        fields("a b=c", none, "field label not supported: a b");
        fields("metadata.namespace=x", none, "field label not supported: metadata.namespace");
        fields(
            "x=1",
            FieldLabels::Names,
            r#""x" is not a known field selector: only "metadata.name", "metadata.namespace""#,
        );
    }

    proptest::proptest! {
        #[test]
        fn both_readers_of_labels_agree(text in "([a-c/!=<>(), -]|in|notin|==){0,12}") {
            proptest::prop_assert_eq!(text.parse::<LabelSelector>().is_ok(), selector_text::labels(&text).is_none());
        }

        #[test]
        fn both_readers_of_fields_agree(text in r"[ab.=!, \\]{0,12}") {
            proptest::prop_assert_eq!(text.parse::<FieldSelector>().is_ok(), selector_text::fields(&text).is_none());
        }

        #[test]
        fn no_selector_panics(text in "\\PC{0,24}|[a!=<>(),\0\\\\ ]{0,12}") {
            let _ = (label_selector(&text), field_selector(&text));
            let _ = (selector_text::labels(&text), selector_text::fields(&text));
        }
    }
}
