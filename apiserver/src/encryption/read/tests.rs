use super::*;

/// A key of 32 bytes, which must not appear in any error.
const SECRET: &str = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0ICEhISE=";

fn configuration(resources: &str) -> String {
    format!("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: {resources}\n")
}

fn providers(providers: &str) -> String {
    configuration(&format!("[{{resources: [secrets], providers: {providers}}}]"))
}

#[track_caller]
fn refused(text: &str, place: &str, advice: &str) {
    let error = Encryption::read(text).unwrap_err();
    assert_eq!(error.place, place, "{error}");
    assert!(error.why.contains(advice), "{error}");
    for part in [&SECRET[..8], &SECRET[SECRET.len() - 8..]] {
        assert!(!error.to_string().contains(part), "{error}");
    }
}

#[test]
fn invalid_configurations_are_rejected_with_advice() {
    let all = "the configuration";
    refused("", all, "write fields, of apiVersion");
    refused("a: [", all, "yaml");
    refused("apiVersion: v1\nkind: EncryptionConfiguration", all, "apiVersion: apiserver.config.k8s.io/v1");
    refused(&configuration("[]").replace("resources", "resource"), all, "\"resource\" is no field");
    refused(&configuration("[]"), "resources", "the list is empty");
    refused(&configuration("[{}]"), "resources[0].providers", "it is not there: write a list");
    refused(&configuration("[{providers: [{identity: {}}]}]"), "resources[0].resources", "write a list");
    let rule = "{resources: [secrets], providers: [{identity: {}}]}";
    refused(
        &configuration(&format!("[{rule}, {rule}]")),
        "resources[1].resources[0]",
        "secrets are among secrets in resources[0].resources[0]",
    );
    let masked = "[{resources: ['*.*', a.b], providers: [{identity: {}}]}]";
    refused(&configuration(masked), "resources[0].resources[1]", "put these before those");
    refused(
        &configuration("[{resources: ['*'], providers: [{identity: {}}]}]"),
        "resources[0].resources[0]",
        "\"*.*\" for all",
    );
    refused(&format!("{}kind: x\n", configuration("[]")), "kind", "twice");
}

#[test]
fn invalid_providers_are_rejected_with_advice() {
    let place = "resources[0].providers";
    let key = |key: &str| providers(&format!("[{{aesgcm: {{keys: [{key}]}}}}]"));
    let at = |of: &str| format!("{place}[0].aesgcm.keys[0]{of}");
    refused(&providers("[]"), place, "the list is empty");
    refused(
        &providers(&format!("[{SECRET}]")),
        &format!("{place}[0]"),
        "it is text: write fields, of aesgcm, identity",
    );
    refused(&providers("[{aesgcm: {keys: []}}]"), &format!("{place}[0].aesgcm.keys"), "empty");
    refused(
        &providers(&format!("[{{aesgcm: {{keys: {SECRET}}}}}]")),
        &format!("{place}[0].aesgcm.keys"),
        "write a list",
    );
    refused(&providers("[{aesgcm: {keys: [x]}, identity: {}}]"), &format!("{place}[0]"), "one name");
    refused(&providers("[{identity: }]"), &format!("{place}[0].identity"), "write {}");
    refused(&providers("[{identity: {a: b}}]"), &format!("{place}[0].identity"), "write {}");
    refused(
        &providers("[{aesgsm: {}}]"),
        &format!("{place}[0]"),
        "\"aesgsm\" is no field of it: there are aesgcm, identity",
    );
    for (name, advice) in
        [("aescbc", "does not authenticate"), ("secretbox", "32 bytes"), ("kms", "not supported")]
    {
        let other = format!("[{{{name}: {{keys: [{{name: k, secret: {SECRET}}}]}}}}]");
        refused(&providers(&other), &format!("{place}[0].{name}"), advice);
    }
    refused(&key(&format!("{{secret: {SECRET}}}")), &at(".name"), "write a name");
    refused(&key(&format!("{{name: '', secret: {SECRET}}}")), &at(".name"), "give it 1 to 255");
    refused(&key("{name: k}"), &at(".secret"), "32 random bytes in base64");
    refused(&key("{name: k, secret: 12}"), &at(".secret"), "it is a number");
    refused(&key(&format!("{{name: k, secret: {SECRET}!}}")), &at(".secret"), "it is no base64");
    refused(&key("{name: k, secret: YWJj}"), &at(".secret"), "it has 3 bytes");
    refused(&key(&format!("{{name: k, secrets: {SECRET}}}")), &at(""), "there are name, secret");
    let twice =
        format!("[{{aesgcm: {{keys: [{{name: k, secret: {SECRET}}}, {{name: k, secret: {SECRET}}}]}}}}]");
    refused(&providers(&twice), place, "two keys are called \"k\"");
    refused(&key(&format!("{{name: k, secret: \"{SECRET}}}")), "the configuration", "yaml");
    refused(&key(&format!("{{name: k, secret: *{SECRET}}}")), "the configuration", "yaml");
}

#[test]
fn the_first_resource_that_matches_decides() {
    let key = |name: &str| format!("{{aesgcm: {{keys: [{{name: {name}, secret: {SECRET}}}]}}}}");
    let text = configuration(&format!(
        "[{{resources: [secrets, widgets.example.com], providers: [{}]}}, {{resources: ['*.'], providers: [{{identity: {{}}}}, {}]}}, \
         {{resources: ['*.*'], providers: [{}]}}]",
        key("a"),
        key("b"),
        key("c"),
    ));
    let encryption = Encryption::read(&text).unwrap();
    let ring = |path: &str| encryption.ring(path).map(|ring| format!("{ring:?}"));
    let of = |name: &str| Some(format!("KeyRing([{name}])"));
    assert_eq!(ring("core/secrets/default/x"), of("Key(SealingKey(\"a\"))"));
    assert_eq!(ring("example.com/widgets/default/x"), of("Key(SealingKey(\"a\"))"));
    assert_eq!(ring("core/namespaces/x"), of("Identity, Key(SealingKey(\"b\"))"));
    assert_eq!(ring("example.com/gadgets/x"), of("Key(SealingKey(\"c\"))"));
    assert_eq!(ring("/guards/core/secrets/x"), None, "what is no object is not meant");
    let of_all = providers(&format!("[{}]", key("a")));
    assert!(Encryption::read(&of_all).unwrap().ring("core/configmaps/default/secrets").is_none());
    let shown = format!("{encryption:?}");
    assert!(shown.contains("SealingKey(\"c\")") && !shown.contains("secret secret"), "{shown}");
}

#[test]
fn the_example_configuration_of_the_guide_is_valid() {
    let example = include_str!("../../../../docs/guides/encryption.yaml");
    let encryption = Encryption::read(&example.replace("SECRET", SECRET)).unwrap();
    assert!(encryption.ring("core/secrets/default/x").is_some());
}
