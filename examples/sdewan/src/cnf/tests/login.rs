use super::*;

#[machinery::tokio::test]
async fn every_path_but_the_root_needs_a_session() {
    let cnf = TestCnf::new().await;
    let mut paths =
        vec!["/cgi-bin/luci/sdewan/v2/config".to_owned(), "/cgi-bin/luci/sdewan/v1/status".into()];
    paths.extend(CollectionId::all().map(|collection| format!("{BASE_PATH}/sdewan/{collection}")));
    paths.extend(["/cgi-bin/luci/sdewan/v1/services", "/cgi-bin/luci", "/other"].map(str::to_owned));
    for path in paths {
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let answer = cnf.server.answer(CnfRequest::new(method.clone(), &path, "")).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{method} {path}");
        }
    }
    let root = cnf.server.answer(CnfRequest::new(Method::GET, "/", "")).await;
    assert_eq!(root.status, StatusCode::OK);
    assert!(cnf.server.state().config.is_empty());
}

#[machinery::tokio::test]
async fn a_login_needs_the_password_of_root() {
    let cnf = TestCnf::new().await;
    assert_eq!(log_in(&cnf.server, "root", "wrong").await, None);
    assert_eq!(log_in(&cnf.server, "admin", "secret").await, None);
    let first = log_in(&cnf.server, "root", "secret").await.unwrap();
    assert!(first.starts_with("sysauth=") && first.len() >= 40, "{first}");
    assert_ne!(first, cnf.cookie);
}

#[machinery::tokio::test]
async fn a_session_ends_by_logout_and_by_a_restart() {
    let cnf = TestCnf::new().await;
    assert_eq!(cnf.send(Method::GET, "v1/services", "").await.status, StatusCode::OK);
    assert_eq!(cnf.send(Method::GET, "../admin/logout", "").await.status, StatusCode::NOT_FOUND);
    let logout = CnfRequest::new(Method::GET, "/cgi-bin/luci/admin/logout", "")
        .header(COOKIE, HeaderValue::from_str(&cnf.cookie).unwrap());
    assert_eq!(cnf.server.answer(logout).await.status, StatusCode::FOUND);
    assert_eq!(cnf.send(Method::GET, "v1/services", "").await.status, StatusCode::FORBIDDEN);
    let cnf = TestCnf::new().await;
    cnf.server.forget_sessions();
    assert_eq!(cnf.send(Method::GET, "v1/services", "").await.status, StatusCode::FORBIDDEN);
}
