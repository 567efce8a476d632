//! The two selector grammars: accepted texts, refused texts and their error messages.

use machinery_objects::{FieldSelector, LabelSelector, Labels, Requirement, RequirementError};

use crate::report;

#[test]
fn p02_valid_selectors_are_parsed_and_written_canonically() {
    let check = |text: &str, canonical: &str| {
        let selector: LabelSelector = text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(selector.to_string(), canonical, "{text:?}");
        assert_eq!(canonical.parse(), Ok(selector), "{text:?}");
    };
    check("", "");
    check(" \t\r\n", "");
    check("a=b", "a=b");
    check("a==b", "a=b");
    check("a = b", "a=b");
    check("\ta\n==\rb ", "a=b");
    check("a!=b", "a!=b");
    check("a", "a");
    check("!a", "!a");
    check(" ! a ", "!a");
    check("a=", "a=");
    check("a==,b", "a=,b");
    check("a!=", "a!=");
    check("a in (x)", "a=x");
    check("a in(y,x,y)", "a in (x,y)");
    check("a notin ( x , y )", "a notin (x,y)");
    check("a notin (x)", "a!=x");
    check("a in ()", "a=");
    check("a notin ()", "a!=");
    check("a in (,)", "a=");
    check("a in (,x)", "a in (,x)");
    check("a in (x,,y)", "a in (,x,y)");
    check("a>1", "a>1");
    check("a < 007", "a<7");
    check("a>9223372036854775807", "a>9223372036854775807");
    check("b,a,!c", "a,b,!c");
    check("a=b,a=b", "a=b");
    check("a=b,a!=c,a", "a=b,a!=c,a");
    check("example.com/role in (a,b),x", "example.com/role in (a,b),x");
    // Operators that are words are ordinary words in other positions.
    check("in", "in");
    check("!notin", "!notin");
    check("in in (in,notin)", "in in (in,notin)");
    check("notin notin (in)", "notin!=in");
    check("in=notin", "in=notin");
}

#[test]
fn p02_invalid_selectors_are_refused_with_position_and_remedy() {
    let check = |text: &str, message: &str| {
        let error = text.parse::<LabelSelector>().expect_err(text);
        assert_eq!(report(&error), message, "{text:?}");
    };
    let key = "the key of a label, or `!` and a key";
    let after_key = "a comma, the end, or one of =, ==, !=, >, <, in, notin";
    let unexpected = |at, found: &str, expected| {
        format!("at byte {at} of the selector there is {found}, and it takes {expected}")
    };
    check(",", &unexpected(0, "a comma", key));
    check("a,", &unexpected(2, "the end", key));
    check("a,,b", &unexpected(2, "a comma", key));
    check("=a", &unexpected(0, "`=`", key));
    check("!=a", &unexpected(0, "`!=`", key));
    check("(a)", &unexpected(0, "`(`", key));
    check("!", &unexpected(1, "the end", "the key of a label"));
    check("!!a", &unexpected(1, "`!`", "the key of a label"));
    check("!a=b", &unexpected(2, "`=`", "a comma or the end"));
    check("a b", &unexpected(2, "`b`", after_key));
    check("a=b c", &unexpected(4, "`c`", "a comma or the end"));
    check("a!b", &unexpected(1, "`!`", after_key));
    check("a===b", &unexpected(3, "`=`", "a value, a comma or the end"));
    check("a=!b", &unexpected(2, "`!`", "a value, a comma or the end"));
    check("a<=1", &unexpected(2, "`=`", "a value, a comma or the end"));
    check("a=(b)", &unexpected(2, "`(`", "a value, a comma or the end"));
    check("a in", &unexpected(4, "the end", "`(`, and values up to `)`"));
    check("a in b", &unexpected(5, "`b`", "`(`, and values up to `)`"));
    check("a in (", &unexpected(6, "the end", "a value, a comma or `)`"));
    check("a in (b", &unexpected(7, "the end", "a comma or `)`"));
    check("a in (b c)", &unexpected(8, "`c`", "a comma or `)`"));
    check("a in (b))", &unexpected(8, "`)`", "a comma or the end"));
    check("a in (b)c", &unexpected(8, "`c`", "a comma or the end"));
    check("a IN (b)", &unexpected(2, "`IN`", after_key));

    let wrong =
        |at, source: &str| format!("the part of the selector that begins at byte {at} is wrong: {source}");
    let number = |text| format!("`>` and `<` need a whole number below 2⁶³, and `{text}` is none");
    let value = "a label's value";
    check("x,a>b", &wrong(2, &number("b")));
    check("a>", &wrong(0, &number("")));
    check("a>1.5", &wrong(0, &number("1.5")));
    check("a<9223372036854775808", &wrong(0, &number("9223372036854775808")));
    let edge =
        "`-1` cannot be the value of a label: a label's value cannot begin or end with '-', as at byte 0";
    check("a>-1", &wrong(0, edge));
    check(
        "a=ö",
        &wrong(
            0,
            &format!(
                "`ö` cannot be the value of a label: 'ö' at byte 0 has no place in {value}, which is made \
                 of A-Z, a-z, 0-9, `-`, `_` and `.`"
            ),
        ),
    );
    check("a/=b", &wrong(0, "`a/` cannot be the key of a label: a label's key must not be empty"));
    check("/a", &wrong(0, "`/a` cannot be the key of a label: a DNS subdomain must not be empty"));
    let long = "x".repeat(64);
    let limit = "has at most 63 characters, and this has 64";
    check(&long, &wrong(0, &format!("`{long}` cannot be the key of a label: a label's key {limit}")));
    check(
        &format!("a={long}"),
        &wrong(0, &format!("`{long}` cannot be the value of a label: {value} {limit}")),
    );
}

#[test]
fn p03_labels_match_as_in_kubernetes() {
    let check = |selector: &str, labels: &Labels, expected: bool| {
        assert_eq!(
            selector.parse::<LabelSelector>().unwrap().matches(labels),
            expected,
            "{selector:?} {labels:?}"
        );
    };
    let labels = Labels::from([("app", "web"), ("empty", ""), ("n", "5"), ("minus", "-3"), ("plus", "+7")]);
    for selector in [
        "",
        "app",
        "app=web",
        "app in (db,web)",
        "app!=db",
        "app notin (db,cache)",
        "empty",
        "empty=",
        "empty in ()",
        "!other",
        "other!=x",
        "other!=",
        "other notin (x,y)",
        "n>4",
        "n<6",
        "n>4,n<6",
        "minus<0",
        "plus>6",
        "app=web,!other",
    ] {
        check(selector, &labels, true);
    }
    for selector in [
        "!app",
        "app=",
        "app=we",
        "app=webb",
        "app!=web",
        "app notin (db,web)",
        "other",
        "other=",
        "other in (x)",
        "!empty",
        "empty!=",
        "n>5",
        "n<5",
        "app>0",
        "app<9",
        "other>0",
        "other<9",
        "empty<9",
        "app=web,other",
    ] {
        check(selector, &labels, false);
    }
    check("", &Labels::default(), true);
    check("a", &Labels::default(), false);
    check("a!=b", &Labels::default(), true);
}

#[test]
fn p04_every_selected_object_has_all_equalities() {
    let check = |selector: &str, expected: &[(&str, &str)]| {
        let selector: LabelSelector = selector.parse().unwrap();
        assert_eq!(selector.equalities().collect::<Vec<_>>(), expected);
    };
    check("", &[]);
    check("b=2,a=1,c!=3,d,!e,f>1,g in (x,y),h in (z)", &[("a", "1"), ("b", "2"), ("h", "z")]);
    check("a=", &[("a", "")]);

    let fields: FieldSelector = "b=2,a=1,c!=3,d=".parse().unwrap();
    assert_eq!(fields.equalities().collect::<Vec<_>>(), [("a", "1"), ("b", "2")], "d may be absent");
    assert_eq!((fields.exactly("a"), fields.exactly("c"), fields.exactly("d")), (Some("1"), None, Some("")));
}

#[test]
fn expressions_of_kubernetes_become_requirements() {
    let check = |operator: &str, values: &[&str], expected: Result<&str, RequirementError>| {
        let made = Requirement::from_expression("k", operator, values).map(|made| made.to_string());
        assert_eq!(made, expected.map(str::to_owned));
    };
    check("In", &["b", "a"], Ok("k in (a,b)"));
    check("NotIn", &["a"], Ok("k!=a"));
    check("Exists", &[], Ok("k"));
    check("DoesNotExist", &[], Ok("!k"));
    check("In", &[], Err(RequirementError::NoValues));
    check("NotIn", &[], Err(RequirementError::NoValues));
    check("Exists", &["a"], Err(RequirementError::Values { operator: "Exists".into() }));
    check("in", &["a"], Err(RequirementError::Operator { operator: "in".into() }));
}

#[test]
fn p05_field_selectors_are_parsed_and_written_canonically() {
    let check = |text: &str, canonical: &str| {
        let selector: FieldSelector = text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(selector.to_string(), canonical, "{text:?}");
        assert_eq!(canonical.parse(), Ok(selector), "{text:?}");
    };
    check("", "");
    check(",,", "");
    check("metadata.name=x", "metadata.name=x");
    check("metadata.name==x,", "metadata.name=x");
    check("spec.nodeName!=y,metadata.name=x", "metadata.name=x,spec.nodeName!=y");
    check("a=", "a=");
    check("a!=", "a!=");
    check(r"a=\,\=\\", r"a=\,\=\\");
    check(r"a=b\,c\=d", r"a=b\,c\=d");
    check("a= x !(y) ", "a= x !(y) ");
    check("a=ö,b=ü", "a=ö,b=ü");
    check("a=b,a=b", "a=b");
}

#[test]
fn p05_invalid_field_selectors_are_refused_with_position_and_remedy() {
    let check = |text: &str, message: &str| {
        let error = text.parse::<FieldSelector>().expect_err(text);
        assert_eq!(report(&error), message, "{text:?}");
    };
    let operator = "=, == or != after the name of a field";
    let escape = "`\\`, `,` or `=` after a `\\`";
    let equals = "a value in which `=` stands after a `\\`";
    let unexpected = |at, found: &str, expected| {
        format!("at byte {at} of the selector there is {found}, and it takes {expected}")
    };
    check("a", &unexpected(1, "the end", operator));
    check("a,b=c", &unexpected(1, "a comma", operator));
    check("a!b", &unexpected(1, "`!`", operator));
    check("a=b=c", &unexpected(3, "`=`", equals));
    check("a===b", &unexpected(3, "`=`", equals));
    check(r"a=\", &unexpected(3, "the end", escape));
    check(r"a=\n", &unexpected(3, "`n`", escape));
    check(r"a=b,c=\ö", &unexpected(7, "`ö`", escape));
    for (text, at, name) in [("=b", 0, ""), ("a=b, c=d", 4, " c"), (r"a\=b", 0, r"a\"), ("a\0=b", 0, "a\0")] {
        check(
            text,
            &format!(
                "the part of the selector that begins at byte {at} is wrong: `{name}` cannot be the name of a field: it is not \
             empty, and without spaces, `=`, `!`, `,` and `\\`"
            ),
        );
    }
}

#[test]
fn p06_fields_match_as_in_kubernetes() {
    let check = |selector: &str, expected: bool| {
        let selector: FieldSelector = selector.parse().unwrap();
        let value =
            |field: &str| [("a", "1"), ("empty", "")].into_iter().find(|&(f, _)| f == field).map(|(_, v)| v);
        assert_eq!(selector.matches_by(value), expected, "{selector}");
    };
    for selector in ["", "a=1", "a!=2", "a!=", "empty=", "absent=", "absent!=1", "a=1,absent="] {
        check(selector, true);
    }
    for selector in ["a=2", "a=", "a!=1", "empty!=", "absent!=", "absent=1", "a=1,absent=1"] {
        check(selector, false);
    }
}
