use super::*;

use std::fs;

use proptest::prelude::*;

/// Checks the user, UID and groups of a token, except the group `system:authenticated`.
fn check(text: &str, token: &str, expected: Option<(&str, &str, &[&str])>) {
    let tokens = parse(text).expect("a good file");
    let found = tokens.identify(token);
    let found = found.as_deref().map(|it| {
        assert_eq!(it.groups[0], "system:authenticated");
        let groups: Vec<_> = it.groups[1..].iter().map(String::as_str).collect();
        (it.user.as_str(), it.uid.as_str(), groups)
    });
    assert_eq!(found, expected.map(|(user, uid, groups)| (user, uid, groups.to_vec())), "{text:?}");
}

fn check_refused(text: &str, expected: &str) {
    assert_eq!(parse(text).expect_err(text).to_string(), expected, "{text:?}");
}

#[test]
fn the_format_of_kubernetes_is_read() {
    let text = "t1,ann,1\nt2,bob,2,dev\n\nt3,\"c, d\",3,\"dev,ops,,dev\"\r\n\"t\"\"4\",eve,\n";
    check(text, "t1", Some(("ann", "1", &[])));
    check(text, "t2", Some(("bob", "2", &["dev"])));
    check(text, "t3", Some(("c, d", "3", &["dev", "ops"])));
    check(text, "t\"4", Some(("eve", "", &[])));
    check(text, "t", None);
    check("", "", None);
    check("t1,ann,1,,more,columns", "t1", Some(("ann", "1", &[])));
    check("t1,ann,1\r", "t1", Some(("ann", "1", &[])));
    check("\r\n\nt1,\"a\nb\",1", "t1", Some(("a\nb", "1", &[])));
}

#[test]
fn errors_have_the_line_and_no_secret() {
    check_refused("t1,ann,1\nt2,bob", "line 2: it has less than three columns");
    check_refused(",ann,1", "line 1: the token is empty, or holds characters that a header cannot hold");
    check_refused("a b,ann,1", "line 1: the token is empty, or holds characters that a header cannot hold");
    check_refused("t1,,1", "line 1: the user has no name");
    check_refused("t1,ann,1\n\nt1,bob,2", "line 3: this token is in the file already");
    check_refused("t1,\"a\nb,1\nt2,b,2", "line 1: a quote is not closed");
    check_refused("t1,a\"b,1", "line 1: there is a quote inside a value without quotes");
    check_refused("t1,\"a\nb\"c,1", "line 2: there is something between a closing quote and the next comma");
}

#[test]
fn a_bad_file_does_not_replace_a_good_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("tokens.csv");
    let error = TokenFile::open(&path).expect_err("not there").to_string();
    assert!(error.ends_with("tokens.csv: there is no such file; check the path"), "{error}");
    fs::write(&path, "t1,ann,1\n").expect("written");
    let file = TokenFile::open(&path).expect("opened");
    fs::write(&path, "t2,bob\n").expect("written");
    let error = file.reload().expect_err("two columns").to_string();
    let expected = "line 1: it has less than three columns; a line is: token,user,uid,\"group1,group2\"";
    assert!(error.ends_with(expected), "{error}");
    assert_eq!(file.tokens().identify("t1").expect("kept").user, "ann");
    fs::write(&path, "t2,bob,2\n").expect("written");
    file.reload().expect("good again");
    assert_eq!(file.tokens().identify("t1"), None, "a token that is gone is good no more");
    assert_eq!(file.tokens().identify("t2").expect("new").user, "bob");
}

#[test]
fn a_token_is_generated_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("data/tokens.csv");
    let admin = Identity::admin();
    let made = ensure(&path, &admin, [7; 32]).expect("made");
    assert_eq!(made, "07".repeat(32));
    assert_eq!(ensure(&path, &admin, [8; 32]).expect("there"), made);
    let other = ensure(&path, &Identity::new("ann"), [9; 32]).expect("added");
    let file = TokenFile::open(&path).expect("opened");
    let found = file.tokens().identify(&made).expect("known");
    assert_eq!(found.user, "admin");
    assert!(found.is_in("system:masters"));
    assert_eq!(file.tokens().identify(&other).expect("known").user, "ann");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn written_records_are_parsed(fields in proptest::collection::vec("[ab,\"\r\n ]{0,5}", 3..5)) {
        let fields: Vec<_> = fields.iter().map(String::as_str).collect();
        // The record begins a new line, so that an empty first field is not an empty line.
        let text = csv::line(&["x"]) + &csv::line(&fields);
        let records = csv::records(&text).expect("our own line");
        prop_assert_eq!(&records[1].fields, &fields);
    }

    #[test]
    fn no_text_panics(text in "[a,\"\r\n é]{0,40}") {
        let _ = parse(&text);
    }
}
