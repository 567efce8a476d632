//! Selectors that do not parse, or use unsupported fields.

use http::Method;

use super::row::{ALL, BAD, CONFIGS, CRDS, Row};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for selector in [
        "=",
        "==",
        "!=",
        "=a",
        "==a",
        "!",
        "!!a",
        "!a=b",
        "a b",
        "a in",
        "a in b",
        "a in (",
        "a in (b",
        "a in (b c)",
        "a in (=)",
        "a in (b,=)",
        "a in ()b",
        "a notin",
        "a notin (b",
        "notin (a)",
        "in (a)",
        "a=b c",
        "a=b,",
        ",",
        ",a",
        "a,,b",
        "a=b,,c=d",
        "a=(b)",
        "a=)",
        "(a)",
        "a>",
        "a>b",
        "a<b",
        "a>1.5",
        "a>99999999999999999999",
        "a<",
        "a=b=c",
        "a===b",
        "a!b",
        "a!==b",
        "/a",
        "a/",
        "a/b/c",
        "-a",
        "a-",
        ".a",
        "a.",
        "_a",
        "a_",
        "A B",
        "a=-b",
        "a=b-",
        "a=.b",
        "a=b_",
        "a=b c=d",
        "a=b/c",
        "a=$(id)",
        "a=`id`",
        "a='b'",
        "a=\"b\"",
        "a=b;c",
        "a&b",
        "a|b",
        "a=%",
        "ä",
        "a=ä",
        "a=\u{202e}b",
        "a\u{0}b",
        "a=\u{0}",
        "\u{feff}a",
        "EXAMPLE.COM/a",
        "-example.com/a",
        "example..com/a",
    ] {
        rows.push(Row::get(format!("{ALL}?labelSelector={}", encoded(selector)), BAD));
    }
    let long = [
        format!("a={}", "b".repeat(64)),
        "a".repeat(64),
        format!("{}/a", "p".repeat(254)),
        format!("a in ({})", "b,".repeat(10_000)),
    ];
    rows.extend(long.iter().take(3).map(|text| Row::get(format!("{ALL}?labelSelector={text}"), BAD)));
    rows.push(Row::get(format!("{ALL}?labelSelector={}", encoded(&"(".repeat(10_000))), BAD));
    rows.push(Row::get(format!("{ALL}?labelSelector={}", encoded(&"!".repeat(10_000))), BAD));
    for selector in [
        "spec.size=3",
        "spec=1",
        "status.ready=true",
        "metadata.labels=x",
        "metadata.uid=1",
        "name=a",
        "spec.tags=p",
        "=",
        "=a",
        "==a",
        "!=a",
        "a",
        "metadata.name",
        "metadata.name!",
        "metadata.name>a",
        "metadata.name=a=b",
        "metadata.name=a\\",
        "metadata.name=a\\x",
        "metadata.name=a\\n",
        "metadata.name in (a)",
        "metadata.name=a,b",
        "metadata.name=a,=b",
        "metadata..name=a",
        "METADATA.NAME=a",
        ".metadata.name=a",
        "metadata.name =a",
        " metadata.name=a",
        "$.spec.color=red",
        "spec.color[0]=red",
        "spec['color']=red",
        "\u{0}=a",
        "metadata.name\u{0}=a",
        "../name=a",
        "metadata/name=a",
    ] {
        rows.push(Row::get(format!("{ALL}?fieldSelector={}", encoded(selector)), BAD));
    }
    for selector in
        ["data.k=v", "spec.color=red", "involvedObject.name=a", "type=Opaque", "status.phase=Running"]
    {
        rows.push(Row::get(format!("{CONFIGS}?fieldSelector={}", encoded(selector)), BAD));
        rows.push(Row::get(format!("{CRDS}?fieldSelector={}", encoded(selector)), BAD));
    }
    // A deletion with an invalid selector deletes nothing.
    for selector in [
        "labelSelector=a%20b",
        "labelSelector=%3D",
        "fieldSelector=spec.size%3D3",
        "fieldSelector=a",
        "limit=x",
    ] {
        rows.push(Row::of(Method::DELETE, format!("{ALL}?{selector}"), BAD));
        rows.push(Row::of(Method::DELETE, format!("{CONFIGS}?{selector}"), BAD));
    }
    rows
}

/// As a query has it.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}
