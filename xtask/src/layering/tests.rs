use super::*;

/// A graph of `(package, [(dependency, dev)])`, without links.
fn graph(crates: &[(&str, &[(&str, bool)])]) -> Graph {
    let edges = |edges: &[(&str, bool)]| edges.iter().map(|&(to, dev)| Edge { to: to.into(), dev }).collect();
    let it = |&(package, list): &(&str, &[(&str, bool)])| Crate {
        package: package.into(),
        edges: edges(list),
        links: BTreeMap::new(),
    };
    Graph { crates: crates.iter().map(it).collect() }
}

/// Checks one edge from `from` to `to`. `to` is a member of the workspace if it is in the table.
fn check(from: &str, to: &str, dev: bool, expected: Option<&str>) {
    let edges = [(to, dev)];
    let both: [(&str, &[(&str, bool)]); 2] = [(from, &edges), (to, &[])];
    let members = if workspace_table::row_of(to).is_some() { &both[..] } else { &both[..1] };
    let found = violations(&graph(members));
    assert_eq!(found.first().map(|violation| violation.edge.as_str()), expected);
    assert!(found.len() <= 1, "one edge is one violation: {found:?}");
}

#[test]
fn a_forbidden_edge_is_named() {
    let found = violations(&graph(&[
        ("machinery-informers", &[("machinery-workqueue", false)]),
        ("machinery-workqueue", &[]),
    ]));
    let [violation] = found.as_slice() else { panic!("one violation, not {found:?}") };
    assert_eq!(violation.edge, "machinery-informers -> machinery-workqueue (dependencies)");
    assert_eq!(violation.rule, "informers may name in its dependencies: metrics, objects, snapshot, sync");
    assert!(violation.remedy.starts_with("remove the edge"));
}

#[test]
fn the_walls_of_the_design_stand() {
    check(
        "machinery-controllers",
        "machinery-apiserver",
        false,
        Some("machinery-controllers -> machinery-apiserver (dependencies)"),
    );
    check(
        "machinery-controllers",
        "machinery-kube",
        false,
        Some("machinery-controllers -> machinery-kube (dependencies)"),
    );
    check(
        "machinery-sync",
        "machinery-objects",
        false,
        Some("machinery-sync -> machinery-objects (dependencies)"),
    );
    check(
        "machinery-workqueue",
        "machinery-objects",
        true,
        Some("machinery-workqueue -> machinery-objects (dev-dependencies)"),
    );
    check("kos", "machinery-store", false, Some("kos -> machinery-store (dependencies)"));
    check(
        "machinery-apiserver",
        "machinery-kube",
        true,
        Some("machinery-apiserver -> machinery-kube (dev-dependencies)"),
    );
}

#[test]
fn transitive_dependencies_may_be_named() {
    check("machinery-workqueue", "machinery-sync", false, None);
    check("machinery-controllers", "machinery-objects", false, None);
    check("machinery-apiserver", "machinery-sync", false, None);
    check("machinery", "machinery-kube", false, None);
    check("kos", "machinery", false, None);
    check("machinery-bench", "machinery-store", false, None);
}

#[test]
fn tests_may_name_more() {
    check("machinery-informers", "machinery-apiserver", true, None);
    check("machinery-controllers", "machinery-kube", true, None);
    check("machinery-kube", "machinery-store", true, None);
    assert!(violations(&graph(&[("machinery-workqueue", &[("machinery-workqueue", true)])])).is_empty());
}

#[test]
fn an_external_crate_has_a_single_user() {
    check("machinery-store", "etcd-client", false, None);
    check("machinery-kube", "kube-client", false, None);
    check("machinery-apiserver", "kube-runtime", true, None);
    check("machinery", "kube-runtime", true, None);
    check("machinery-bench", "kube-runtime", false, None);
    for (from, to, dev) in [
        ("machinery-apiserver", "etcd-client", false),
        ("machinery-apiserver", "kube-client", false),
        ("machinery-controllers", "kube-client", true),
    ] {
        let found = violations(&graph(&[(from, &[(to, dev)])]));
        assert_eq!(found.first().map(|it| it.edge.clone()), Some(format!("{from} -> {to}")));
    }
}

#[test]
fn a_forbidden_crate_is_found_at_depth() {
    let tree = "0machinery-workqueue v0.1.0 (/home)\n1tokio v1.0.0\n1metrics v3.0.0\n2reporter v0.2.0\n3hyper-util v0.1.0\n\
                4tokio v1.0.0 (*)\n1hyperlog v1.0.0\n";
    let links = read::parse(tree).expect("the tree is whole because it is written above");
    let found = violations(&Graph {
        crates: vec![Crate { package: "machinery-workqueue".into(), links, ..Crate::default() }],
    });
    let [violation] = found.as_slice() else { panic!("one violation, not {found:?}") };
    assert_eq!(violation.edge, "machinery-workqueue -> metrics -> reporter -> hyper-util");
}

#[test]
fn a_crate_without_a_row_is_an_error() {
    let found = violations(&graph(&[("machinery-attic", &[])]));
    let [violation] = found.as_slice() else { panic!("one violation, not {found:?}") };
    assert_eq!(violation.edge, "machinery-attic is not in the table");
}

#[test]
fn every_name_in_the_table_is_a_crate() {
    let known: BTreeSet<_> = workspace_table::WORKSPACE.iter().map(|row| row.name).collect();
    for row in workspace_table::WORKSPACE {
        let names = match row.may {
            May::Reach(names) | May::Only(names) => names,
            May::Anything => &[],
        };
        assert!(
            names.iter().chain(row.dev).all(|name| known.contains(name)),
            "{} names a row that is not",
            row.name
        );
        assert!(
            !workspace_table::allowed(row).contains(row.name) || matches!(row.may, May::Anything),
            "a circle at {}",
            row.name
        );
    }
}

#[test]
fn the_tree_as_it_is_stands() {
    let workspace = Workspace::read().expect("cargo reads the workspace because it is building it");
    assert_eq!(findings(&workspace).expect("cargo tree works where cargo does"), Vec::<String>::new());
}
