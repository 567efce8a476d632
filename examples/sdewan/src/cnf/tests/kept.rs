use serde_json::json;

use super::*;

async fn filled(directory: &std::path::Path) -> TestCnf {
    let cnf = TestCnf::with(Some(directory.to_owned()), CnfLimits::default()).await;
    let body = json!({"name": "p", "members": [{"interface": "net0", "metric": "1", "weight": "1"}]});
    cnf.created("mwan3/v1/policies", body).await;
    for name in ["b", "a"] {
        cnf.created("mwan3/v1/rules", json!({"name": name, "policy": "p"})).await;
    }
    cnf
}

#[machinery::tokio::test]
async fn a_cnf_with_a_directory_keeps_its_objects_and_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let before = filled(directory.path()).await.server.state();
    let cnf = TestCnf::with(Some(directory.path().to_owned()), CnfLimits::default()).await;
    let after = cnf.server.state();
    assert_eq!((&after.config, after.revision), (&before.config, before.revision));
    assert_ne!(after.etag(), before.etag(), "a client may not take one start for another");
    assert!(cnf.path.applied().is_empty());
    cnf.server.apply_kept().await.unwrap();
    assert_eq!(cnf.path.applied(), after.config);
    // Without a directory it forgets.
    assert!(TestCnf::new().await.server.state().config.is_empty());
}

#[machinery::tokio::test]
async fn the_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path()).await;
    let file = std::fs::metadata(directory.path().join("config.json")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
}

#[machinery::tokio::test]
async fn a_state_that_cannot_be_kept_is_not_entered() {
    let directory = tempfile::tempdir().unwrap();
    let cnf = filled(directory.path()).await;
    let before = cnf.server.state();
    std::fs::remove_dir_all(directory.path()).unwrap();
    let (code, message) = cnf.message(Method::DELETE, "mwan3/v1/rules/a", "").await;
    assert!(code == 500 && message.contains("config.json"), "{message}");
    assert_eq!(cnf.server.state(), before);
}

#[machinery::tokio::test]
async fn an_unreadable_file_is_an_error_with_the_remedy() {
    for (text, reason) in
        [("x", "expected value"), (r#"{"format":2,"revision":1,"objects":[]}"#, "its format is 2")]
    {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("config.json"), text).unwrap();
        let settings = CnfSettings {
            password: PasswordSource::shared("x").0,
            facts: DeviceFacts::default(),
            state: Some(directory.path().to_owned()),
            apply: Arc::new(MemoryDataPath::default()),
            limits: CnfLimits::default(),
        };
        let error = CnfServer::open(settings).err().unwrap().to_string();
        assert!(error.contains(reason) && error.contains("remove it"), "{error}");
    }
}
