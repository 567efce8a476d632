use super::*;

fn check(pattern: &str, yes: &[&str], no: &[&str]) {
    let pattern = Pattern::parse(pattern).expect("a pattern");
    for text in yes {
        assert!(pattern.matches(text), "{} {text:?}", pattern.as_str());
    }
    for text in no {
        assert!(!pattern.matches(text), "{} {text:?}", pattern.as_str());
    }
}

#[test]
fn perl_classes_are_ascii() {
    check(r"^\d+$", &["12"], &["١٢", ""]);
    check(r"^[\w.-]+$", &["a.b-c_1"], &["ä", "a b"]);
    check(r"^[^\s]+$", &["a", "\u{a0}"], &["a b"]);
    check(r"^[\D]$", &["x", "ü"], &["1"]);
    check(r"\bfoo\b", &["a foo b", "äfoo"], &["afoo"]);
}

#[test]
fn classes_may_contain_punctuation() {
    check(r"^[a[b&&c]+$", &["a[b&c"], &["d"]);
    check(r"^[]a]+$", &["]a"], &["b"]);
    check(r"^[\w-.]+$", &["a-.b"], &["/"]);
    check(r"^[a-]+$", &["a-"], &["b"]);
    check(r"^[[:alpha:]~-]+$", &["ab~-"], &["1"]);
    check(r"^[+--]$", &["+", ",", "-"], &["."]);
    check(r"^[\x41-\x43\n]$", &["B", "\n"], &["D"]);
}

#[test]
fn braces_are_counts_or_literals() {
    check(r"^a{2,3}$", &["aa", "aaa"], &["a", "a{2,3}"]);
    check(r"^{{.*}}$", &["{{x}}"], &["x"]);
    check(r"^a{,2}$", &["a{,2}"], &["aa"]);
    check(r"^a{01}$", &["a{01}"], &["a"]);
    check(r"^\Qa.b\E$", &["a.b"], &["axb"]);
    check(r"^\<a\>\/\_$", &["<a>/_"], &["a/_"]);
    check(r"^\101\p{Greek}\pN$", &["Aα1"], &["Aa1"]);
}

#[test]
fn patterns_invalid_in_go_are_refused() {
    for pattern in [
        "(",
        "*a",
        "a|+",
        "(?:?)",
        ")",
        "a**",
        "[z-a]",
        r"\8",
        r"(?=a)",
        r"(?<=a)b",
        r"\",
        "[a",
        "(?x)a",
        r"\pQ",
        "a{1,2}{3}",
        "a{1001}",
        "((a{100}){10}){2}",
        "a{2,1}",
        "[[:odd:]]",
        "(?<n",
        r"\p{Alphabetic}",
    ] {
        let problem = Pattern::parse(pattern).expect_err(pattern).to_string();
        assert!(problem.starts_with("error parsing regexp: ") && !problem.contains('\n'), "{problem}");
    }
}
