use super::*;

#[test]
fn blank_lines_comments_and_tests_are_not_counted() {
    let text = "//! A module.\n\nuse a; // used\n\n/// An item.\nfn b() {\n    // nothing\n}\n\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
    assert_eq!(code_lines(text), 3);
    assert_eq!(code_lines("#[cfg(test)]\nmod tests;\nfn d() {}\n"), 3);
}

#[test]
fn files_of_tests_and_fabrics_are_left_out() {
    for file in ["plan/ipam/tests.rs", "drive/ovs/mod.rs", "command/up.rs", "drive/sim/tests/a.rs"] {
        assert!(is_left_out(file), "{file}");
    }
    for file in ["plan/ipam.rs", "drive/fabric.rs", "drive/mod.rs", "lib.rs", "metrics/mod.rs"] {
        assert!(!is_left_out(file), "{file}");
    }
}

#[test]
fn files_are_read_below_the_source_directory_and_summed_by_directory() {
    let files = ["x/src/lib.rs", "x/src/plan/a.rs", "x/src/plan/b.rs", "x/src/lab/c.rs", "x/src/text.md"];
    let counts = count(files.into_iter(), "x/src".as_ref(), |_| Ok("one\ntwo\n".to_owned())).unwrap();
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["lib.rs", "plan/a.rs", "plan/b.rs"]);
    let directories = by_directory(&counts);
    assert_eq!(directories, BTreeMap::from([("(top)".to_owned(), 2), ("plan".to_owned(), 4)]));
}
