use super::*;

fn check(name: &str, yes: &[&str], no: &[&str]) {
    let format = ValueFormat::parse(name, Some(JsonType::String)).expect("a known format");
    for text in yes {
        assert!(format.holds(text), "{name} {text:?}");
    }
    for text in no {
        assert!(!format.holds(text), "{name} {text:?}");
    }
}

#[test]
fn unknown_formats_are_not_checked() {
    for (name, kind) in [
        ("colour", JsonType::String),
        ("int32", JsonType::String),
        ("date", JsonType::Integer),
        ("int32", JsonType::Number),
    ] {
        assert_eq!(ValueFormat::parse(name, Some(kind)), None, "{name}");
    }
    assert_eq!(ValueFormat::parse("date-time", None), Some(ValueFormat::Text(TextFormat::DateTime)));
    assert_eq!(ValueFormat::parse("int32", Some(JsonType::Integer)), Some(ValueFormat::Int32));
}

#[test]
fn dates_and_times() {
    check(
        "date",
        &["2024-02-29", "0000-01-01"],
        &["2023-02-29", "2024-2-1", "2024-13-01", "2024-00-01", "2024-01-00", ""],
    );
    check(
        "date-time",
        &["2024-02-29T23:59:59Z", "2024-01-01t00:00:00.123456+01:00", "2024-01-01T00:00:00z"],
        &[
            "2024-01-01",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:60Z",
            "2024-01-01T00:00:00",
            "2024-01-01 00:00:00Z",
            "T",
        ],
    );
    check(
        "duration",
        &["1h30m", "-1.5s", "0", "22 ns", "2 hours 3 min", "1d", "3 weeks", ".5ms"],
        &["", "1", "1 parsec", "h", "9999999999999999999 s"],
    );
}

#[test]
fn networks() {
    check(
        "ipv4",
        &["10.0.0.1", "010.0.0.01", "::ffff:1.2.3.4"],
        &["10.0.0", "256.0.0.1", "1.2.3.4 ", "::1", "1.2.3.4.5"],
    );
    check(
        "ipv6",
        &["::1", "fe80::1", "::ffff:1.2.3.4"],
        &["10.0.0.1", ":::", "fe80::1%eth0", "g::", "::ffff:01.2.3.4"],
    );
    check(
        "cidr",
        &["10.0.0.0/8", "10.0.0.1/032", "fe80::/64"],
        &["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/", "/8", "10.0.0.0/+8"],
    );
    check(
        "mac",
        &["00:00:5e:00:53:01", "00-00-5E-00-53-01", "0000.5e00.5301"],
        &["00:00:5e:00:53", "00:00-5e:00:53:01", "0000.5e00.530"],
    );
    check(
        "hostname",
        &["localhost", "a.example.com", "m-yhost", "1.example", "bücher.example"],
        &["my-host", "-a", "a.example-", "a..b", "a_b.com", "example.c", ""],
    );
    check("k8s-short-name", &["a", "my-name-1"], &["A", "-a", "a-", "a.b", ""]);
    check("k8s-long-name", &["a.b-c"], &["a..b", "A.b", ""]);
}

#[test]
fn uris() {
    check(
        "uri",
        &[
            "http://example.com",
            "/a/path",
            "mailto:ann@example.com",
            "*",
            "http://u:p@h:80/?q=%",
            "http://[::1]:80/",
            "http://bücher.example/",
            "xyz://",
            "http://h:/",
            "http://[fe80::1%25en0]/",
            "mongodb://a:1,b:2/",
        ],
        &[
            "",
            "example.com",
            "./path",
            ":x",
            "http://a b/",
            "http://h:port/",
            "/%zz",
            "http://h/%2",
            "http://[::1/",
            "http://[x]/",
            "http://h%41/",
            "http://u^@h/",
            "http://a[b/",
            "http://h:1:2/",
            "a\u{7f}",
        ],
    );
}

#[test]
fn mail() {
    check(
        "email",
        &[
            "ann@example.com",
            "Ann B. <ann@example.com>",
            "\"a b\"@example.com",
            "ann@[192.0.2.1]",
            "ü@bücher.example",
            "<a@b>",
            "a@b (c)",
            "a (b) c <a@b>",
        ],
        &[
            "",
            "ann",
            "ann@",
            "@example.com",
            "a b@example.com",
            "a..b@example.com",
            "ann@example.com, bob@example.com",
            "<a@b",
            "a@b.",
            "a(c)@b",
            "a@[IPv6:::1]",
            "a @b",
        ],
    );
}

#[test]
fn codes() {
    check("byte", &["TWE=", "TQ==", "TWFu"], &["", "TWE", "TW=u", "T===", "TW-_"]);
    check(
        "uuid",
        &["7c9e6679-7425-40de-944b-e07fc1f90ae7", "7C9E6679742540DE944BE07FC1F90AE7"],
        &["7c9e6679-7425-40de-944b", "xc9e6679-7425-40de-944b-e07fc1f90ae7"],
    );
    check(
        "uuid4",
        &["7c9e6679-7425-40de-944b-e07fc1f90ae7"],
        &["7c9e6679-7425-30de-944b-e07fc1f90ae7", "7c9e6679-7425-40de-c44b-e07fc1f90ae7"],
    );
    check("uuid3", &["7c9e6679-7425-30de-c44b-e07fc1f90ae7"], &["7c9e6679-7425-40de-944b-e07fc1f90ae7"]);
    check("uuid5", &["7c9e6679-7425-50de-944b-e07fc1f90ae7"], &["7c9e6679-7425-40de-944b-e07fc1f90ae7"]);
    check("hexcolor", &["#fff", "00FF00"], &["#ff", "#ffff", "#ggg"]);
    check(
        "rgbcolor",
        &["rgb(0, 127,255)"],
        &["rgb(0,0,256)", "rgb(01,0,0)", "rgb(0,0)", "rgb(,,)", "rgb(+1,0,0)"],
    );
    check(
        "creditcard",
        &["4220 8554 2622 2389", "374953669708156"],
        &["4220855426213389", "", "30190239451016"],
    );
    check("isbn", &["0321751043", "978-0321751041", "3 401 01319 X"], &["0321751044", "978-0321751042", "X"]);
    check("isbn10", &["3836221195"], &["9784873113685"]);
    check("isbn13", &["9784873113685"], &["3836221195"]);
    check("ssn", &["123-45-6789", "123 45 6789"], &["123456789", "123-45-678"]);
    check("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f1f77bcf86cd79943901"]);
    check("password", &["", "x"], &[]);
}
