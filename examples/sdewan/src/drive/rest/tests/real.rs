//! The client against the CNF's server, over TLS.

use std::sync::Arc;

use machinery::tokio_util::sync::{CancellationToken, DropGuard};
use machinery::tokio_util::task::TaskTracker;
use serde_json::json;

use crate::cnf::{
    CnfAuthority, CnfLimits, CnfListener, CnfServer, CnfSettings, CnfTls, DeviceFacts, PasswordSource,
};
use crate::drive::rest::RestConnector;
use crate::drive::{
    Cnf, CnfConnector as _, CnfCredentials, CnfErrorClass, CnfInterface, ConfigTag, ConfigWrite,
    MemoryDataPath, PodTarget,
};
use crate::model::{CollectionId, Desired, RestObject, Service, secret_mac};

struct Served {
    server: Arc<CnfServer>,
    target: PodTarget,
    password: Arc<machinery::sync::Mutex<String>>,
    _stops: DropGuard,
}

async fn serve() -> Served {
    let (source, password) = PasswordSource::shared("a&b=c%d+é");
    let settings = CnfSettings {
        password: source,
        facts: DeviceFacts::of_nics(["net0", "net1"]),
        state: None,
        apply: Arc::new(MemoryDataPath::default()),
        limits: CnfLimits::default(),
    };
    let server = Arc::new(CnfServer::open(settings).unwrap());
    let authority = CnfAuthority::new().unwrap();
    let issued = authority.issue_for_pod("127.0.0.1".parse().unwrap(), "default").unwrap();
    let tls = CnfTls::pem(issued.certificate.as_bytes(), issued.key.as_bytes()).unwrap();
    let listener = CnfListener::bind("127.0.0.1:0".parse().unwrap(), tls).await.unwrap();
    let target = PodTarget {
        namespace: "default".into(),
        name: "cnf-1".into(),
        uid: "u".into(),
        restarts: 0,
        ip: "127.0.0.1".into(),
        port: listener.address().port(),
        credentials: CnfCredentials {
            user: "root".into(),
            password: "a&b=c%d+é".into(),
            authority: Some(authority.certificate().as_bytes().into()),
        },
        mac_key: b"key".as_slice().into(),
    };
    let stopping = CancellationToken::new();
    TaskTracker::new().spawn(listener.run(server.clone(), stopping.clone()));
    Served { server, target, password, _stops: stopping.drop_guard() }
}

fn client(target: &PodTarget) -> Arc<dyn Cnf> {
    RestConnector::default().connect(target).unwrap()
}

fn object(collection: CollectionId, body: serde_json::Value) -> RestObject {
    RestObject::from_body(collection, body).unwrap()
}

fn policy() -> RestObject {
    let members = json!([{"interface": "net0", "metric": "1", "weight": "1"}]);
    object(CollectionId::Policies, json!({"name": "p", "members": members}))
}

fn rule(name: &str, policy: &str) -> RestObject {
    object(CollectionId::Mwan3Rules, json!({"name": name, "policy": policy}))
}

#[machinery::tokio::test]
async fn v2_is_read_and_written_with_tags() {
    let served = serve().await;
    let cnf = client(&served.target);
    assert_eq!(cnf.interface().await.unwrap(), CnfInterface::V2);
    let empty = cnf.read_config(None).await.unwrap().unwrap();
    assert!(empty.config.objects.is_empty());
    let remote = object(
        CollectionId::Remotes,
        json!({"name": "hub", "gateway": "%any", "authentication_method": "psk", "pre_shared_key": "marker",
            "connections": [{"name": "c", "conn_type": "tunnel", "mode": "add"}]}),
    );
    let objects = [
        (CollectionId::Policies, vec![policy()]),
        (CollectionId::Mwan3Rules, vec![rule("b", "p"), rule("a", "p")]),
        (CollectionId::Remotes, vec![remote]),
    ];
    let desired = Desired { owner: "agent".into(), objects: objects.into() };
    let ConfigWrite::Applied { tag } = cnf.write_config(&desired, &empty.tag).await.unwrap() else {
        panic!()
    };
    assert_eq!(cnf.read_config(Some(&tag)).await.unwrap(), None);
    assert_eq!(cnf.write_config(&desired, &empty.tag).await.unwrap(), ConfigWrite::Stale);
    let read = cnf.read_config(None).await.unwrap().unwrap();
    assert_eq!(read.tag, tag);
    for (collection, objects) in &desired.with_macs(b"key").objects {
        let observed: Vec<_> = read.config.of(*collection).iter().map(|one| one.object.clone()).collect();
        assert_eq!(&observed, objects);
    }
    let hub = read.config.get(CollectionId::Remotes, "hub").unwrap();
    assert_eq!(
        (hub.owner.as_deref(), hub.object.text("pre_shared_key")),
        (Some("agent"), &*secret_mac(b"key", "marker"))
    );
    assert_eq!(served.server.counts().logins, 1);
}

#[machinery::tokio::test]
async fn refused_objects_are_named_with_their_reasons() {
    let served = serve().await;
    let cnf = client(&served.target);
    let tag = cnf.read_config(None).await.unwrap().unwrap().tag;
    let objects = [(CollectionId::Mwan3Rules, vec![rule("a", "zz")])];
    let desired = Desired { owner: "agent".into(), objects: objects.into() };
    let ConfigWrite::Refused { refusals } = cnf.write_config(&desired, &tag).await.unwrap() else { panic!() };
    let [only] = &*refusals else { panic!("{refusals:?}") };
    assert_eq!((only.collection, &*only.name, only.code), (CollectionId::Mwan3Rules, "a", 428));
    assert!(only.message.contains("Policy[zz]") && !only.is_removal, "{}", only.message);
    // A policy that a rule of another client uses is not removed.
    let objects = [(CollectionId::Policies, vec![policy()])];
    let desired = Desired { owner: "agent".into(), objects: objects.into() };
    let ConfigWrite::Applied { .. } = cnf.write_config(&desired, &tag).await.unwrap() else { panic!() };
    cnf.create(&rule("theirs", "p")).await.unwrap();
    let tag = cnf.read_config(None).await.unwrap().unwrap().tag;
    let empty = Desired { owner: "agent".into(), ..Desired::default() };
    let ConfigWrite::Refused { refusals } = cnf.write_config(&empty, &tag).await.unwrap() else { panic!() };
    let [only] = &*refusals else { panic!("{refusals:?}") };
    assert_eq!((only.collection, &*only.name, only.code), (CollectionId::Policies, "p", 409));
    assert!(only.is_removal && only.message.contains("is used"), "{}", only.message);
}

#[machinery::tokio::test]
async fn v1_objects_are_created_replaced_listed_and_deleted() {
    let served = serve().await;
    served.server.offer_v2(false);
    let cnf = client(&served.target);
    assert_eq!(cnf.interface().await.unwrap(), CnfInterface::V1);
    let early = cnf.create(&rule("r", "p")).await.unwrap_err();
    assert_eq!((early.class, early.code), (CnfErrorClass::MissingDependency, Some(428)));
    cnf.create(&policy()).await.unwrap();
    cnf.create(&rule("r", "p")).await.unwrap();
    let twice = cnf.create(&rule("r", "p")).await.unwrap_err();
    assert_eq!(twice.class, CnfErrorClass::Conflict);
    assert_eq!(cnf.list(CollectionId::Policies).await.unwrap(), [policy()]);
    let used = cnf.delete(CollectionId::Policies, "p").await.unwrap_err();
    assert_eq!((used.class, &*used.call), (CnfErrorClass::InUse, "DELETE mwan3/v1/policies/p"));
    let changed = object(CollectionId::Mwan3Rules, json!({"name": "r", "policy": "p", "dest_port": "443"}));
    cnf.replace(&changed).await.unwrap();
    assert_eq!(cnf.list(CollectionId::Mwan3Rules).await.unwrap(), [changed]);
    cnf.restart(Service::Mwan3).await.unwrap();
    cnf.delete(CollectionId::Mwan3Rules, "r").await.unwrap();
    let absent = cnf.delete(CollectionId::Mwan3Rules, "r").await.unwrap_err();
    assert_eq!((absent.class, absent.code), (CnfErrorClass::NotFound, Some(404)));
    assert_eq!(served.server.counts().reloads, 1);
}

#[machinery::tokio::test]
async fn a_forgotten_session_is_renewed_and_a_rotated_password_is_noticed() {
    let served = serve().await;
    let cnf = client(&served.target);
    cnf.interface().await.unwrap();
    served.server.forget_sessions();
    cnf.read_config(None).await.unwrap();
    assert_eq!(served.server.counts().logins, 2);
    "other".clone_into(&mut served.password.lock());
    served.server.forget_sessions();
    let refused = cnf.read_config(None).await.unwrap_err();
    assert_eq!((refused.class, refused.code), (CnfErrorClass::Unauthorized, Some(403)));
    let mut target = served.target.clone();
    target.credentials.password = "other".into();
    client(&target).read_config(None).await.unwrap();
}

#[machinery::tokio::test]
async fn unusable_credentials_are_an_error_before_any_call() {
    let served = serve().await;
    let refused = |change: fn(&mut PodTarget)| {
        let mut target = served.target.clone();
        change(&mut target);
        RestConnector::default().connect(&target).err().unwrap()
    };
    for (error, text) in [
        (refused(|target| target.credentials.password = "".into()), "password"),
        (refused(|target| target.credentials.authority = None), "cnf-cert-secret"),
        (refused(|target| target.credentials.authority = Some(b"x".as_slice().into())), "authority"),
        (refused(|target| target.ip = "x".into()), "no address"),
    ] {
        assert_eq!(error.class, CnfErrorClass::Credentials);
        assert!(error.message.contains(text), "{}", error.message);
    }
    assert_eq!(served.server.counts().requests, 0);
}

#[machinery::tokio::test]
async fn a_tag_of_another_start_is_stale() {
    let served = serve().await;
    let cnf = client(&served.target);
    let tag = ConfigTag("\"other-0\"".into());
    assert_eq!(cnf.write_config(&Desired::default_of("agent"), &tag).await.unwrap(), ConfigWrite::Stale);
}

impl Desired {
    fn default_of(owner: &str) -> Self {
        Self { owner: owner.into(), ..Self::default() }
    }
}
