//! Promise 12: external state is cleaned up before its object is deleted.

use k8s_openapi::api::core::v1::ConfigMap;
use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_controllers::{Finalizer, FinalizerError, FinalizerEvent, FinalizerOutcome, Next, changed};
use machinery_objects::{
    Conflict, Deleted, Deletion, Event, Freshness, ListWatch, ObjectKey, Preconditions, WriteError, Writer,
};
use machinery_store::{Memory, Options};
use std::sync::Arc;
use std::time::Duration;

const NAME: &str = "example.com/port";

struct FinalizerFixture {
    server: ApiServer,
    maps: Handle<ConfigMap>,
    finalizer: Finalizer<ConfigMap>,
}

async fn bench() -> FinalizerFixture {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let maps = server.handle::<ConfigMap>(Identity::admin());
    let finalizer = Finalizer::new(NAME, Arc::new(maps.clone())).unwrap();
    FinalizerFixture { server, maps, finalizer }
}

impl FinalizerFixture {
    async fn create(&self, finalizers: &[&str]) -> ConfigMap {
        let mut map = ConfigMap::default();
        map.metadata.name = Some("a".into());
        map.metadata.namespace = Some("default".into());
        map.metadata.finalizers = Some(finalizers.iter().map(ToString::to_string).collect());
        self.maps.create(&map, None).await.unwrap().object
    }

    async fn now(&self) -> Option<ConfigMap> {
        self.maps.get(&key(), Freshness::Newest).await.unwrap().map(|map: Arc<ConfigMap>| (*map).clone())
    }

    /// Performs one run, and checks that `act` receives this event, or is not called.
    async fn run(
        &self,
        map: &ConfigMap,
        expected: Option<FinalizerEvent>,
        answer: Result<Next, &'static str>,
    ) -> Result<FinalizerOutcome, FinalizerError<&'static str>> {
        let mut acted = None;
        let acts = &mut acted;
        let ran = self.finalizer.run(map, None, |life| {
            *acts = Some(life);
            async move { answer }
        });
        let ran = ran.await;
        assert_eq!(acted, expected);
        ran
    }
}

fn key() -> ObjectKey {
    "default/a".parse().unwrap()
}

fn finalizers(map: &ConfigMap) -> Vec<&str> {
    map.metadata.finalizers.iter().flatten().map(String::as_str).collect()
}

#[tokio::test]
async fn p12_the_finalizer_is_added_before_apply_and_removed_after_cleanup() {
    let bench = bench().await;
    let map = bench.create(&["example.com/other"]).await;
    let finalized = bench.run(&map, None, Ok(Next::Done)).await.unwrap();
    let again = Next::After(Duration::ZERO);
    assert!(finalized.next == again && finalized.token.is_some(), "the event is that of an own write");
    let map = bench.now().await.unwrap();
    assert_eq!(finalizers(&map), ["example.com/other", NAME]);

    let later = Next::After(Duration::from_secs(5));
    let finalized = bench.run(&map, Some(FinalizerEvent::Apply), Ok(later)).await.unwrap();
    assert!(finalized.next == later && finalized.token.is_none());
    assert!(matches!(
        bench.run(&map, Some(FinalizerEvent::Apply), Err("no port is free")).await,
        Err(FinalizerError::Act("no port is free"))
    ));

    let gone = bench.maps.delete(&key(), &Deletion::default()).await.unwrap();
    assert!(matches!(gone, Deleted::Marked(_)));
    let map = bench.now().await.unwrap();
    bench.run(&map, Some(FinalizerEvent::Cleanup), Err("the switch does not answer")).await.unwrap_err();
    bench.run(&map, Some(FinalizerEvent::Cleanup), Ok(later)).await.unwrap();
    assert_eq!(finalizers(&bench.now().await.unwrap()), ["example.com/other", NAME], "it is not gone yet");
    bench.run(&map, Some(FinalizerEvent::Cleanup), Ok(Next::Done)).await.unwrap();
    let map = bench.now().await.unwrap();
    assert_eq!(finalizers(&map), ["example.com/other"]);
    bench.run(&map, None, Ok(Next::Done)).await.unwrap();
    bench.server.stop().await;
}

#[tokio::test]
async fn p12_a_deleted_object_is_not_applied_and_vanishes_with_its_last_finalizer() {
    let bench = bench().await;
    let map = bench.create(&[NAME]).await;
    bench.maps.delete(&key(), &Deletion::default()).await.unwrap();
    let marked = bench.now().await.unwrap();
    // The clean-up wrote the object itself.
    let mut written = marked.clone();
    written.data = Some([("state".to_owned(), "going".to_owned())].into());
    bench.maps.update(&written, &Preconditions::default()).await.unwrap();
    bench.run(&marked, Some(FinalizerEvent::Cleanup), Ok(Next::Done)).await.unwrap();
    assert!(bench.now().await.is_none());
    let again = bench.run(&marked, Some(FinalizerEvent::Cleanup), Ok(Next::Done)).await.unwrap();
    assert_eq!(again.token, None, "it has gone, which is what was wanted");

    let another = bench.create(&[NAME]).await;
    let error = bench.run(&marked, Some(FinalizerEvent::Cleanup), Ok(Next::Done)).await.unwrap_err();
    assert!(matches!(error, FinalizerError::Remove(WriteError::Conflict(Conflict::Uid { .. }))), "{error}");
    assert_eq!(bench.now().await, Some(another));
    drop(map);
    bench.server.stop().await;
}

#[tokio::test]
async fn p12_a_stale_object_adds_no_finalizer() {
    let bench = bench().await;
    let old = bench.create(&[]).await;
    let mut map = old.clone();
    map.metadata.finalizers = Some(vec!["example.com/other".into()]);
    let map = bench.maps.update(&map, &Preconditions::default()).await.unwrap().object;
    let error = bench.run(&old, None, Ok(Next::Done)).await.unwrap_err();
    assert!(matches!(error, FinalizerError::Add(WriteError::Conflict(_))), "{error}");
    assert_eq!(bench.now().await, Some(map), "nobody's finalizer is lost");
    assert!(
        Finalizer::new("no finalizer", Arc::new(bench.maps.clone()) as Arc<dyn Writer<ConfigMap>>).is_err()
    );
    bench.server.stop().await;
}

#[test]
fn p12_a_deletion_timestamp_passes_every_predicate() {
    let is_news = changed(|map: &ConfigMap| map.data.clone());
    let news = |change: &dyn Fn(&mut ConfigMap)| {
        let old = ConfigMap::default();
        let mut object = old.clone();
        change(&mut object);
        is_news(&Event::Updated { old: Arc::new(old), object: Arc::new(object) })
    };
    assert!(!news(&|map| map.metadata.generation = Some(2)));
    assert!(news(&|map| map.data = Some([("a".into(), "b".into())].into())));
    assert!(news(&|map| map.metadata.finalizers = Some(vec![NAME.into()])));
    let now =
        || k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH);
    assert!(news(&|map| map.metadata.deletion_timestamp = Some(now())));
}

/// Regression: a boxed error does not implement `Error`, so `?` did not convert the finalizer's
/// error.
#[tokio::test]
async fn p12_finalizer_errors_convert_to_boxed_errors() {
    type Boxed = Box<dyn std::error::Error + Send + Sync>;
    async fn reconcile(finalizer: &Finalizer<ConfigMap>, map: &ConfigMap) -> Result<Next, Boxed> {
        let act = |_| async { Err::<Next, Boxed>(std::io::Error::other(std::fmt::Error).into()) };
        Ok(finalizer.run(map, None, act).await?.next)
    }
    let bench = bench().await;
    let map = bench.create(&[NAME]).await;
    let error = reconcile(&bench.finalizer, &map).await.unwrap_err();
    let why = std::io::Error::other(std::fmt::Error);
    assert_eq!(error.to_string(), why.to_string());
    assert!(matches!(error.downcast_ref(), Some(FinalizerError::<Boxed>::Act(_))), "{error:?}");
    bench.server.stop().await;
}
