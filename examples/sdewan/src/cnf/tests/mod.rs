mod checks;
mod filled;
mod kept;
mod login;
mod recorded;
mod status;
mod v1;
mod v2;
mod wire;

use std::sync::Arc;

use http::header::{COOKIE, HeaderName, HeaderValue, SET_COOKIE};
use http::{Method, StatusCode};
use serde_json::Value;

use super::*;
use crate::drive::MemoryDataPath;
use crate::model::CollectionId;

/// A CNF with two NICs, and a session.
struct TestCnf {
    server: Arc<CnfServer>,
    path: Arc<MemoryDataPath>,
    cookie: String,
}

impl TestCnf {
    async fn new() -> Self {
        Self::with(None, CnfLimits::default()).await
    }

    async fn with(state: Option<std::path::PathBuf>, limits: CnfLimits) -> Self {
        let path = Arc::new(MemoryDataPath::default());
        let facts = DeviceFacts {
            nics: vec![
                NicFact {
                    name: "net0".into(),
                    addresses: vec!["10.0.0.1".parse().unwrap()],
                    ..NicFact::default()
                },
                NicFact { name: "net1".into(), ..NicFact::default() },
            ],
            ..DeviceFacts::default()
        };
        let settings = CnfSettings {
            password: PasswordSource::shared("secret").0,
            facts,
            state,
            apply: path.clone(),
            limits,
        };
        let server = Arc::new(CnfServer::open(settings).unwrap());
        let cookie = log_in(&server, "root", "secret").await.unwrap();
        Self { server, path, cookie }
    }

    async fn send(&self, method: Method, path: &str, body: impl ToString) -> CnfAnswer {
        self.send_with(method, path, body, &[]).await
    }

    async fn send_with(
        &self,
        method: Method,
        path: &str,
        body: impl ToString,
        headers: &[(HeaderName, &str)],
    ) -> CnfAnswer {
        let mut request = CnfRequest::new(method, &format!("{BASE_PATH}/sdewan/{path}"), body.to_string())
            .header(COOKIE, HeaderValue::from_str(&self.cookie).unwrap());
        for (name, value) in headers {
            request = request.header(name.clone(), HeaderValue::from_str(value).unwrap());
        }
        self.server.answer(request).await
    }

    /// Sends a request and returns status and message.
    async fn message(&self, method: Method, path: &str, body: impl ToString) -> (u16, String) {
        let answer = self.send(method, path, body).await;
        let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
        (answer.status.as_u16(), message)
    }

    async fn created(&self, path: &str, body: Value) {
        let answer = self.send(Method::POST, path, &body).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{path} {body}: {:?}", answer.json());
    }

    fn names(&self, collection: CollectionId) -> Vec<String> {
        let state = self.server.state();
        state.config.list(collection).iter().map(|object| (*object.name).to_owned()).collect()
    }
}

/// Logs in, and returns the cookie.
async fn log_in(server: &CnfServer, user: &str, password: &str) -> Option<String> {
    let body = format!("luci_username={user}&luci_password={password}");
    let answer = server.answer(CnfRequest::new(Method::POST, BASE_PATH, body)).await;
    if answer.status != StatusCode::FOUND {
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        return None;
    }
    let cookie = answer.headers.get(SET_COOKIE).unwrap().to_str().unwrap();
    Some(cookie.split(';').next().unwrap().to_owned())
}
