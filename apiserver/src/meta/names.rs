//! Errors of names, in the words of Kubernetes. A valid name has none.

use machinery_objects::{NameError, NameRule};

/// The letters of generated names: no vowels and their look-alikes, so that no words are generated.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// How much of the beginning of a generated name is kept, so that it can be a label of DNS.
const MAX_PREFIX: usize = 58;

/// A name that begins so and ends with five letters by chance.
pub(crate) fn generate_name(prefix: &str, chance: u64) -> String {
    let mut name = prefix[..prefix.floor_char_boundary(MAX_PREFIX)].to_owned();
    let mut chance = chance;
    for _ in 0..5 {
        let letters = ALPHABET.len() as u64;
        name.push(char::from(ALPHABET[(chance % letters) as usize]));
        chance /= letters;
    }
    name
}

/// The rule for a kind's names.
pub(crate) fn name(rule: NameRule, text: &str) -> Vec<String> {
    match rule {
        NameRule::DnsLabel => dns_label(text),
        NameRule::PathSegment => path_segment(text),
        NameRule::LabelKey => label_key(text),
        NameRule::LabelValue => label_value(text),
        _ => dns_subdomain(text),
    }
}

/// The rule for the beginning of a name that is generated: it may end with a dash, or be of dots.
pub(crate) fn prefix(rule: NameRule, text: &str) -> Vec<String> {
    if rule == NameRule::PathSegment {
        return forbidden_in_paths(text);
    }
    // Kubernetes puts the `a` in the place of the last two.
    match text.strip_suffix('-').and_then(|_| text.get(..text.len().checked_sub(2)?)) {
        Some(begin) => name(rule, &format!("{begin}a")),
        None => name(rule, text),
    }
}

pub(crate) fn dns_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63, "characters");
    if !has_form(NameRule::DnsLabel, text) {
        wrong.push(if has_form(NameRule::DnsSubdomain, text) {
            "must not contain dots".into()
        } else {
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
             with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .into()
        });
    }
    wrong
}

/// The prefix of errors of a kind, whose lower-case form is validated as a label.
pub(crate) const MIXED_CASE: &str = "may have mixed case, but should otherwise match: ";

/// The older rule for labels: they begin with a letter.
pub(crate) fn dns_1035_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63, "characters");
    if !has_form(NameRule::DnsLabel, text) || !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        wrong.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .into(),
        );
    }
    wrong
}

pub(crate) fn dns_subdomain(text: &str) -> Vec<String> {
    subdomain(text, "characters")
}

fn subdomain(text: &str, unit: &str) -> Vec<String> {
    let mut wrong = too_long(text, 253, unit);
    if !has_form(NameRule::DnsSubdomain, text) {
        wrong.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .into(),
        );
    }
    wrong
}

pub(crate) fn path_segment(text: &str) -> Vec<String> {
    match text {
        "." | ".." => vec![format!("may not be '{text}'")],
        _ => forbidden_in_paths(text),
    }
}

/// The key of a label or an annotation, and the name of a finalizer.
pub(crate) fn label_key(text: &str) -> Vec<String> {
    let rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let mut wrong = Vec::new();
    let name = match text.split_once('/') {
        None => text,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            wrong.push("prefix part must be non-empty".into());
            name
        }
        Some((prefix, name)) => {
            wrong.extend(subdomain(prefix, "bytes").into_iter().map(|why| format!("prefix part {why}")));
            name
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".into());
    }
    wrong.extend(too_long(name, 63, "bytes").into_iter().map(|why| format!("name part {why}")));
    if !has_form(NameRule::LabelKey, name) {
        wrong.push(format!("name part {rule}"));
    }
    wrong
}

pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, 63, "bytes");
    if !has_form(NameRule::LabelValue, text) {
        wrong.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .into(),
        );
    }
    wrong
}

fn forbidden_in_paths(text: &str) -> Vec<String> {
    // A zero ends a text in other places than here.
    let found = ["/", "%", "\0"].into_iter().filter(|found| text.contains(found));
    found.map(|found| format!("may not contain '{}'", found.escape_default())).collect()
}

/// Kubernetes counts bytes, and for names calls them characters.
fn too_long(text: &str, limit: usize, unit: &str) -> Vec<String> {
    if text.len() > limit { vec![format!("must be no more than {limit} {unit}")] } else { Vec::new() }
}

/// Returns whether a text keeps to a rule but for its length.
fn has_form(rule: NameRule, text: &str) -> bool {
    matches!(rule.check(text), Ok(()) | Err(NameError::TooLong { .. }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Expects errors with these prefixes.
    fn check(wrong: Vec<String>, expected: &[&str]) {
        assert_eq!(wrong.len(), expected.len(), "{wrong:?}");
        for (wrong, expected) in wrong.iter().zip(expected) {
            assert!(wrong.starts_with(expected), "{wrong}");
        }
    }

    #[test]
    fn names() {
        let label = "a lowercase RFC 1123 label must consist of";
        let subdomain = "a lowercase RFC 1123 subdomain must consist of";
        check(dns_label("a-1"), &[]);
        check(dns_label("a.b"), &["must not contain dots"]);
        check(dns_label("A"), &[label]);
        check(dns_label(""), &[label]);
        check(dns_label(&"a".repeat(64)), &["must be no more than 63 characters"]);
        check(dns_label(&"A".repeat(64)), &["must be no more than 63 characters", label]);
        let older = "a DNS-1035 label must consist of";
        check(dns_1035_label("a-1"), &[]);
        check(dns_1035_label("1-a"), &[older]);
        check(dns_1035_label(&"A".repeat(64)), &["must be no more than 63 characters", older]);
        check(dns_subdomain("a.b-c"), &[]);
        check(dns_subdomain("a..b"), &[subdomain]);
        check(dns_subdomain(&"a".repeat(254)), &["must be no more than 253 characters"]);
        check(path_segment("A b:c"), &[]);
        check(path_segment(".."), &["may not be '..'"]);
        check(path_segment("a/b%c"), &["may not contain '/'", "may not contain '%'"]);
        check(path_segment("a\0"), &["may not contain '\\u{0}'"]);
    }

    #[test]
    fn labels() {
        let name = "name part must consist of alphanumeric characters, '-', '_' or '.'";
        check(label_key("app.kubernetes.io/name"), &[]);
        check(label_key("A_b"), &[]);
        check(label_key("a/b/c"), &["a valid label key must consist of"]);
        check(label_key("/a"), &["prefix part must be non-empty"]);
        check(label_key("A/a"), &["prefix part a lowercase RFC 1123 subdomain must consist of"]);
        check(label_key("a/"), &["name part must be non-empty", name]);
        check(label_key(""), &["name part must be non-empty", name]);
        check(label_key(&"a".repeat(64)), &["name part must be no more than 63 bytes"]);
        check(label_key("-"), &[name]);
        check(label_value(""), &[]);
        check(label_value("a b"), &["a valid label must be an empty string"]);
        check(label_value(&"a".repeat(64)), &["must be no more than 63 bytes"]);
    }

    #[test]
    fn beginnings_of_names() {
        check(prefix(NameRule::DnsSubdomain, "a-"), &[]);
        check(prefix(NameRule::DnsSubdomain, "-"), &["a lowercase RFC 1123 subdomain"]);
        check(prefix(NameRule::DnsLabel, "A-"), &[]);
        check(prefix(NameRule::DnsLabel, "é-"), &["a lowercase RFC 1123 label"]);
        check(prefix(NameRule::PathSegment, ".."), &[]);
        assert_eq!(generate_name("web-", 0), "web-bbbbb");
        assert_eq!(generate_name("", u64::MAX).len(), 5);
        assert_eq!(generate_name(&"a".repeat(80), 1), format!("{}cbbbb", "a".repeat(58)));
        assert_eq!(generate_name(&format!("{}é", "a".repeat(57)), 0), format!("{}bbbbb", "a".repeat(57)));
    }

    proptest! {
        #[test]
        fn invalid_names_have_errors(text in "[a-cA./%-]{0,6}|[a-c/]{0,70}|\\PC{0,6}") {
            for rule in [NameRule::DnsLabel, NameRule::DnsSubdomain, NameRule::LabelKey, NameRule::LabelValue] {
                prop_assert_eq!(name(rule, &text).is_empty(), rule.check(&text).is_ok(), "{:?}", rule);
            }
            let _ = prefix(NameRule::DnsLabel, &text);
        }

        #[test]
        fn generated_names_are_names(prefix in "[a-z][a-z0-9-]{0,80}", chance in any::<u64>()) {
            prop_assert!(NameRule::DnsLabel.check(&generate_name(&prefix, chance)).is_ok());
        }
    }
}
