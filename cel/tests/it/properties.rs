//! Properties of arbitrary texts and programs.

use std::sync::Arc;

use machinery_cel::{Bindings, Budget, DeclaredType, Env, Pattern, RunError, limits};
use proptest::prelude::*;
use serde_json::json;

fn env() -> Env {
    Env::new().with("x", Arc::new(DeclaredType::any()))
}

fn run(text: &str) {
    let value = json!({"a": [1, 2.5, "s", null, {"b": true}], "n": -1});
    if let Ok(program) = env().compile(text) {
        let _ = program.estimate();
        let _ = program.run(&Bindings::new().with("x", &value), &mut Budget::object());
    }
}

/// Generates programs from pieces, which are valid more often than random letters.
fn program() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "x",
        "x.a",
        "x.n",
        "1",
        "-9223372036854775808",
        "0u",
        "1.5",
        "'añ'",
        "b'a'",
        "null",
        "true",
        "[]",
        "{}",
        "x.a[0]",
        "optional.none()",
        "quantity('1Ki')",
        "duration('1s')",
        "timestamp(0)",
        "ip('::1')",
        "y",
        "int",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(6, 40, 3, |inner| {
        let two = prop::sample::select(vec![
            "{} + {}",
            "{} - {}",
            "{} * {}",
            "{} / {}",
            "{} % {}",
            "{} == {}",
            "{} < {}",
            "{} && {}",
            "{} || {}",
            "{} in {}",
            "{}[{}]",
            "{}[?{}]",
            "[{}, {}]",
            "{{}: {}}",
            "{}.map(y, {})",
            "{}.all(y, {})",
            "{}.exists_one(y, {})",
            "{}.transformMap(k, y, {})",
            "{}.optMap(y, {})",
            "{}.sortBy(y, {})",
            "{}.indexOf({})",
            "{}.split({})",
            "{}.format([{}])",
            "{}.add({})",
            "{}.substring({})",
            "{}.flatten({})",
            "sets.contains({}, {})",
            "{}.orValue({})",
            "{}.slice({}, 1)",
        ]);
        let one = prop::sample::select(vec![
            "-{}",
            "!{}",
            "({})",
            "{}.?a",
            "has({}.a)",
            "size({})",
            "string({})",
            "int({})",
            "double({})",
            "dyn({})",
            "type({})",
            "{}.sum()",
            "{}.distinct()",
            "{}.getHours('02:00')",
            "lists.range({})",
            "{}.first()",
            "{}.join()",
            "duration({})",
            "{}.value()",
            "{}.asInteger()",
            "dyn({}) + dyn({})",
        ]);
        let fill = |shape: &str, parts: &[String]| {
            let mut parts = parts.iter().cycle();
            let mut text = String::new();
            let mut rest = shape;
            while let Some(at) = rest.find("{}") {
                text.push_str(&rest[..at]);
                text.push_str(parts.next().unwrap());
                rest = &rest[at + 2..];
            }
            text + rest
        };
        prop_oneof![
            (two, inner.clone(), inner.clone()).prop_map(move |(shape, a, b)| fill(shape, &[a, b])),
            (one, inner).prop_map(move |(shape, a)| fill(shape, &[a])),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn p01_no_text_panics(text in any::<String>()) {
        run(&text);
    }

    #[test]
    fn p01_nothing_that_looks_like_a_program_panics(
        text in r#"[a-c0-9.'"\\(){}\[\],:?&|!<>=+\-*/% \n]{0,60}"#,
    ) {
        run(&text);
    }

    #[test]
    fn p01_no_pattern_panics(pattern in "[\\\\\\[\\](){}^$.*+?|a-c0-9,:&~<>PQEdwbx-]{0,16}", text in "\\PC{0,8}") {
        if let Ok(pattern) = Pattern::parse(&pattern) {
            prop_assert_eq!(pattern.matches(&text), pattern.find_all(&text).next().is_some());
        }
    }

    #[test]
    fn p01_no_program_panics(text in program()) {
        run(&text);
    }
}

#[test]
fn p02_depth_and_length_are_bounded() {
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        for (open, middle, close) in [
            ("(", "1", ")"),
            ("[", "1", "]"),
            ("{1:", "1", "}"),
            ("-(", "1", ")"),
            ("!", "true", ""),
            ("x.a(", "1", ")"),
        ] {
            for depth in [100, 126, 130, 5_000, 20_000] {
                run(&format!("{}{middle}{}", open.repeat(depth), close.repeat(depth)));
            }
        }
        for (first, more) in
            [("1", " + 1"), ("x", ".a"), ("x", "[0]"), ("true", " && true"), ("x", ".optMap(y, y)")]
        {
            for times in [100, 126, 130, 5_000] {
                run(&format!("{first}{}", more.repeat(times)));
            }
        }
        for depth in [10, 30, 120] {
            run(&format!("{}y{}", "[1].map(y, ".repeat(depth), ")".repeat(depth)));
            run(&format!("{}{}", "true ? 1 : ".repeat(depth), 1));
            run(&format!("[1]{}", ".map(y, {y: y})".repeat(depth)));
        }
    });
    worker.unwrap().join().unwrap();
    let long = "1".repeat(limits::MAX_CHARS + 1);
    assert!(env().compile(&long).unwrap_err().to_string().contains("exceeds limit"));
    assert!(env().compile(&"(".repeat(500)).unwrap_err().to_string().contains("recursion limit"));
    assert!(env().compile(&vec!["true"; 5_000].join(" && ")).is_ok());
}

#[test]
fn p08_a_run_stops_at_its_cost_limit() {
    let text = "lists.range(1000).all(i, lists.range(1000).all(j, i * j >= 0))";
    let program = env().compile(text).unwrap();
    let mut budget = Budget::object();
    assert_eq!(program.run(&Bindings::new(), &mut budget).unwrap_err(), RunError::CostExceeded);
    assert!(budget.left() < limits::OBJECT_COST);
    let mut budget = Budget::new(100, limits::RUN_COST);
    assert_eq!(
        env()
            .compile("lists.range(90).size() == 90")
            .unwrap()
            .run(&Bindings::new(), &mut budget)
            .unwrap_err(),
        RunError::BudgetExceeded
    );
}

#[test]
fn p07_a_program_is_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let program = env().compile("x.n + 1").unwrap();
    shared(&program);
    shared(&env());
    assert_eq!(
        program.run(&Bindings::new(), &mut Budget::object()).unwrap_err(),
        RunError::Unbound("x".to_owned())
    );
}
