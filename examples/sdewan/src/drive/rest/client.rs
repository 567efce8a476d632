//! The port to CNFs over their REST API.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{Method, StatusCode};
use machinery::tokio::sync::OnceCell;
use serde_json::{Value, json};

use super::access::CnfAccess;
use super::error::RestError;
use super::limits::RestLimits;
use super::session::{CnfSession, RestAnswer, RestCall, shortened};
use crate::cnf::{CONFIG_PATH, SECRET_KEY_HEADER};
use crate::drive::{
    Cnf, CnfConnector, CnfError, CnfErrorClass, CnfInterface, ConfigTag, ConfigWrite, PodTarget, Refusal,
    TaggedConfig,
};
use crate::model::{CollectionId, ConfigDocument, Desired, Observed, RestObject, Service};

/// Connects to CNFs over TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct RestConnector {
    limits: RestLimits,
}

impl RestConnector {
    /// Sets the limits.
    #[must_use]
    pub const fn new(limits: RestLimits) -> Self {
        Self { limits }
    }
}

impl CnfConnector for RestConnector {
    fn connect(&self, target: &PodTarget) -> Result<Arc<dyn Cnf>, CnfError> {
        let wrong = |why: String| {
            let call = format!("connect to {}/{}", target.namespace, target.name);
            CnfError::new(CnfErrorClass::Credentials, call, why)
        };
        let ip: IpAddr = target.ip.parse().map_err(|_| wrong(format!("{} is no address", target.ip)))?;
        let authority = target.credentials.authority.as_deref().ok_or_else(|| {
            wrong("there is no certificate authority: the label cnf-cert-secret of the pod has to name a Secret with `ca.crt`".into())
        })?;
        let access = CnfAccess {
            address: SocketAddr::new(ip, target.port),
            dns_name: target.dns_name(),
            password: target.credentials.password.to_string(),
            authority: String::from_utf8_lossy(authority).into_owned(),
        };
        let session = CnfSession::new(access, self.limits).map_err(|error| wrong(error.to_string()))?;
        let key = target.mac_key.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Arc::new(RestCnf { session, key, interface: OnceCell::new() }))
    }
}

/// The REST API of one pod.
struct RestCnf {
    session: CnfSession,
    /// The key of the HMACs of secrets, as hexadecimal text.
    key: String,
    interface: OnceCell<CnfInterface>,
}

impl RestCnf {
    /// Calls a path below `sdewan/`.
    async fn call(&self, call: RestCall) -> Result<RestAnswer, CnfError> {
        let shown = |error: RestError| error.of(&call.method, call.path.trim_start_matches("/sdewan/"));
        self.session.call(&call).await.map_err(shown)
    }

    /// Sends an object and checks that the answer is about it.
    async fn send_object(&self, call: RestCall, object: &RestObject) -> Result<(), CnfError> {
        let redacted = |error: CnfError| without_secrets(error, &secrets([object]));
        let (method, path) = (call.method.clone(), call.path.clone());
        let answer = self.call(call.json(&object.body())).await.map_err(redacted)?;
        let name = answer.json().ok().and_then(|body| Some(body.get("name")?.as_str()? == object.name()));
        match name {
            Some(true) => Ok(()),
            _ => Err(malformed(&method, &path, "the answer is not about the object")),
        }
    }

    /// Calls a path that answers with a message of success.
    async fn send(&self, call: RestCall) -> Result<(), CnfError> {
        let (method, path) = (call.method.clone(), call.path.clone());
        let answer = self.call(call).await?;
        let message = answer.json().ok().and_then(|body| Some(body.get("message")?.as_str()? == "success"));
        match message {
            Some(true) => Ok(()),
            _ => Err(malformed(&method, &path, "the answer does not say that it succeeded")),
        }
    }
}

#[async_trait]
impl Cnf for RestCnf {
    async fn interface(&self) -> Result<CnfInterface, CnfError> {
        let probe = || async {
            // A condition that always holds: the answer has no body.
            let call = RestCall::new(Method::GET, CONFIG_PATH).header(IF_NONE_MATCH, "*");
            match self.call(call).await {
                Ok(answer) if answer.etag.is_some() => Ok(CnfInterface::V2),
                Ok(_) => Err(malformed(&Method::GET, CONFIG_PATH, "the answer has no ETag")),
                Err(error) if matches!(error.code, Some(404 | 405)) => Ok(CnfInterface::V1),
                Err(error) => Err(error),
            }
        };
        self.interface.get_or_try_init(probe).await.copied()
    }

    async fn read_config(&self, known: Option<&ConfigTag>) -> Result<Option<TaggedConfig>, CnfError> {
        let mut call = RestCall::new(Method::GET, CONFIG_PATH).header(SECRET_KEY_HEADER, &*self.key);
        if let Some(known) = known {
            call = call.header(IF_NONE_MATCH, &*known.0);
        }
        let answer = self.call(call).await?;
        let wrong = |why: String| malformed(&Method::GET, CONFIG_PATH, &why);
        if answer.status == StatusCode::NOT_MODIFIED {
            return match known {
                Some(_) => Ok(None),
                None => Err(wrong("304 without a condition".into())),
            };
        }
        let tag = answer.etag.clone().ok_or_else(|| wrong("the answer has no ETag".into()))?;
        // Not at once: an array would be taken for a document.
        let body = answer.json().map_err(|error| wrong(error.to_string()))?;
        if !body.get("collections").is_some_and(Value::is_object) {
            return Err(wrong("there are no collections".into()));
        }
        let document: ConfigDocument =
            serde_json::from_value(body).map_err(|error| wrong(error.to_string()))?;
        let config = Observed::from_document(document).map_err(|error| wrong(error.to_string()))?;
        Ok(Some(TaggedConfig { tag: ConfigTag(tag), config }))
    }

    async fn write_config(&self, desired: &Desired, if_match: &ConfigTag) -> Result<ConfigWrite, CnfError> {
        let body = serde_json::to_vec(&desired.document()).unwrap_or_default();
        let mut call = RestCall::new(Method::PUT, CONFIG_PATH).header(IF_MATCH, &*if_match.0);
        call.body = body.into();
        let all = || secrets(desired.objects.values().flatten());
        let wrong = |why: &str| malformed(&Method::PUT, CONFIG_PATH, why);
        match self.session.call(&call).await {
            Ok(answer) => {
                let tag = answer.etag.ok_or_else(|| wrong("the answer has no ETag"))?;
                Ok(ConfigWrite::Applied { tag: ConfigTag(tag) })
            }
            Err(RestError::Refused { status: StatusCode::PRECONDITION_FAILED, .. }) => Ok(ConfigWrite::Stale),
            Err(RestError::RefusedObjects(refused)) => {
                let secrets = all();
                let refusals = refused.refused.into_iter().map(|one| {
                    let collection = CollectionId::of_path(&one.collection);
                    let collection = collection.ok_or_else(|| wrong("a refusal of an unknown collection"))?;
                    let message = redact(shortened(&one.message), &secrets);
                    let (name, code, is_removal) = (one.name, one.code, one.is_removal);
                    Ok(Refusal { collection, name, code, message, is_removal })
                });
                let refusals: Vec<_> = refusals.collect::<Result<_, CnfError>>()?;
                match refusals.is_empty() {
                    true => Err(wrong("a refusal of no object")),
                    false => Ok(ConfigWrite::Refused { refusals }),
                }
            }
            Err(error) => Err(without_secrets(error.of(&Method::PUT, shown(CONFIG_PATH)), &all())),
        }
    }

    async fn list(&self, collection: CollectionId) -> Result<Vec<RestObject>, CnfError> {
        let path = format!("/sdewan/{collection}");
        let answer = self.call(RestCall::new(Method::GET, &*path)).await?;
        let wrong = |why: String| malformed(&Method::GET, &path, &why);
        // The original answers bytes of certificates that are no text.
        let text = String::from_utf8_lossy(&answer.body);
        let mut body: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        match body.get_mut(collection.row().name).map(Value::take) {
            Some(Value::Array(objects)) => {
                let object = |one| RestObject::from_body(collection, one);
                objects
                    .into_iter()
                    .map(object)
                    .collect::<Result<_, _>>()
                    .map_err(|error| wrong(error.to_string()))
            }
            // Lua does not distinguish an empty list from an empty object.
            Some(Value::Object(empty)) if empty.is_empty() => Ok(Vec::new()),
            _ => Err(wrong(format!("there is no list {}", collection.row().name))),
        }
    }

    async fn create(&self, object: &RestObject) -> Result<(), CnfError> {
        let path = format!("/sdewan/{}", object.collection());
        self.send_object(RestCall::new(Method::POST, path), object).await
    }

    async fn replace(&self, object: &RestObject) -> Result<(), CnfError> {
        let call = RestCall::new(Method::PUT, path_of(object.collection(), object.name()));
        self.send_object(call, object).await
    }

    async fn delete(&self, collection: CollectionId, name: &str) -> Result<(), CnfError> {
        self.send(RestCall::new(Method::DELETE, path_of(collection, name))).await
    }

    async fn restart(&self, service: Service) -> Result<(), CnfError> {
        let path = format!("/sdewan/v1/service/{}", service.name());
        self.send(RestCall::new(Method::PUT, path).json(&json!({ "action": "restart" }))).await
    }
}

fn path_of(collection: CollectionId, name: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');
    format!("/sdewan/{collection}/{}", utf8_percent_encode(name, KEPT))
}

fn shown(path: &str) -> &str {
    path.trim_start_matches("/sdewan/")
}

fn malformed(method: &Method, path: &str, why: &str) -> CnfError {
    RestError::Nonsense(why.to_owned()).of(method, shown(path))
}

/// Returns the secrets of objects.
fn secrets<'a>(objects: impl IntoIterator<Item = &'a RestObject>) -> Vec<String> {
    let found = RefCell::new(Vec::new());
    for object in objects {
        let _ = object.clone().map_secrets(|secret| {
            found.borrow_mut().push(secret.to_owned());
            String::new()
        });
    }
    found.into_inner()
}

/// A CNF may repeat a secret in its message.
fn redact(message: String, secrets: &[String]) -> String {
    secrets.iter().filter(|secret| !secret.is_empty()).fold(message, |text, secret| text.replace(secret, "…"))
}

fn without_secrets(error: CnfError, secrets: &[String]) -> CnfError {
    CnfError { message: redact(error.message.clone(), secrets), ..error }
}
