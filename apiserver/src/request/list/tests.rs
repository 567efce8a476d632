use std::num::NonZeroU64;
use std::time::Duration;

use super::{GetOptions, ListAt, ListOptions, Query, Refusal};

fn parse(query: &str) -> Result<ListOptions, Refusal> {
    let query = Query::parse(Some(query)).unwrap();
    ListOptions::parse(&query, query.flag("watch"))
}

fn at(query: &str, expected: ListAt) {
    assert_eq!(parse(query).unwrap().at, expected, "{query}");
}

fn refused(query: &str, code: u16, message: &str) {
    let refusal = parse(query).unwrap_err();
    assert_eq!((refusal.code, refusal.message.as_str()), (code, message), "{query}");
}

/// 422, with one cause.
fn forbidden(query: &str, field: &str, why: &str) {
    refused(query, 422, &format!("ListOptions.meta.k8s.io \"\" is invalid: {field}: {why}"));
    let refusal = parse(query).unwrap_err();
    assert_eq!((refusal.causes[0].field.as_str(), refusal.causes[0].message.as_str()), (field, why));
}

#[test]
fn nothing_asked_for() {
    let options = parse("").unwrap();
    assert!(options.labels.is_everything() && options.fields.is_everything());
    assert_eq!((options.limit, options.at.clone(), options.revision), (None, ListAt::Newest, None));
    assert!(!options.bookmarks && !options.initial_events);
    assert_eq!(options.time_limit(), None);
    assert_eq!(parse("color=red&limit=&limit=3").unwrap_err().code, 400);
    assert_eq!(parse("color=red&labelSelector=&resourceVersion=&continue="), Ok(options));
}

#[test]
fn everything_asked_for() {
    let options = parse(
        "labelSelector=app%3Dx&fieldSelector=metadata.name%3Dn&limit=5&watch=1&allowWatchBookmarks=true\
         &resourceVersion=7&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=9",
    )
    .unwrap();
    assert_eq!(
        (options.labels.to_string(), options.fields.to_string()),
        ("app=x".into(), "metadata.name=n".into())
    );
    assert_eq!((options.limit, options.revision), (NonZeroU64::new(5), Some(7)));
    assert!(options.bookmarks && options.initial_events);
    assert_eq!(options.time_limit(), Some(Duration::from_secs(9)));
    let longest = parse("timeoutSeconds=9223372036854775807").unwrap().time_limit();
    assert_eq!(
        longest,
        Some(Duration::from_secs(365 * 24 * 3600)),
        "clocks know no time that is much farther"
    );
}

#[test]
fn moments() {
    at("", ListAt::Newest);
    at("resourceVersion=0", ListAt::Any);
    at("resourceVersion=0&limit=5", ListAt::Any);
    at("resourceVersion=7", ListAt::NotOlderThan(7));
    at("resourceVersion=7&limit=5", ListAt::Exact(7));
    at("resourceVersion=7&limit=-1", ListAt::NotOlderThan(7));
    at("resourceVersion=7&limit=5&resourceVersionMatch=NotOlderThan", ListAt::NotOlderThan(7));
    at("resourceVersion=7&resourceVersionMatch=Exact", ListAt::Exact(7));
    at("resourceVersion=0&resourceVersionMatch=NotOlderThan", ListAt::Any);
}

#[test]
fn a_page_goes_on() {
    use crate::request::{ContinueAt, ContinueToken};
    let token = ContinueToken::new(ContinueAt::Revision(3), "a\0").unwrap();
    let text = token.encode();
    at(&format!("continue={text}"), ListAt::After(token.clone()));
    at(&format!("continue={text}&resourceVersion=0&limit=2"), ListAt::After(token));
    let message = "specifying resource version is not allowed when using continue";
    refused(&format!("continue={text}&resourceVersion=3"), 400, message);
    let why = "Forbidden: resourceVersionMatch is forbidden when continue is provided";
    forbidden("watch=1&continue=nonsense", "resourceVersionMatch", why);
}

#[test]
fn numbers() {
    for ignored in ["limit=-1", "limit=0"] {
        assert_eq!(parse(ignored).unwrap().limit, None);
    }
    let limit = |query| parse(query).unwrap().time_limit();
    assert_eq!(limit("timeoutSeconds=0"), None);
    assert_eq!(limit("timeoutSeconds=-4"), Some(Duration::ZERO));
    refused("limit=x", 400, r#"strconv.ParseInt: parsing "x": invalid syntax"#);
    refused("timeoutSeconds=1s", 400, r#"strconv.ParseInt: parsing "1s": invalid syntax"#);
    let wrong = |text: &str| parse(&format!("resourceVersion={text}")).unwrap_err();
    for text in ["abc", "-1", "%2B1", "1.5", "99999999999999999999"] {
        assert_eq!(wrong(text).code, 400, "{text}");
    }
    assert_eq!(
        wrong("abc").message,
        r#"invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax"#
    );
    assert_eq!(GetOptions::parse(&Query::default()).unwrap().revision, None);
    assert_eq!(GetOptions::parse(&Query::parse(Some("resourceVersion=x")).unwrap()).unwrap_err().code, 400);
}

#[test]
fn contradictory_options_are_refused() {
    let field = "resourceVersionMatch";
    forbidden(
        "resourceVersionMatch=Exact",
        field,
        "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
    );
    forbidden(
        "resourceVersionMatch=Exact&resourceVersion=0",
        field,
        "Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
    );
    forbidden(
        "resourceVersionMatch=NotOlderThan&resourceVersion=1&continue=x",
        field,
        "Forbidden: resourceVersionMatch is forbidden when continue is provided",
    );
    forbidden(
        "resourceVersionMatch=Newest&resourceVersion=1",
        field,
        "Unsupported value: \"Newest\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
    );
    forbidden(
        "sendInitialEvents=false",
        "sendInitialEvents",
        "Forbidden: sendInitialEvents is forbidden for list",
    );
    forbidden(
        "watch=1&sendInitialEvents=true",
        field,
        "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    );
    forbidden(
        "watch=1&resourceVersionMatch=NotOlderThan",
        field,
        "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
    );
    assert_eq!(parse("watch=1&sendInitialEvents=1&resourceVersionMatch=Exact").unwrap_err().causes.len(), 2);
}

#[test]
fn a_watch_without_a_revision_begins_with_the_initial_list() {
    let initial = |query| parse(query).unwrap().initial_events;
    assert!(initial("watch=1"));
    assert!(initial("watch=1&resourceVersion=0"));
    assert!(!initial("watch=1&resourceVersion=5"));
    assert!(!initial("watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"));
    assert!(initial("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=5"));
    assert!(!initial("resourceVersion=0"));
}
