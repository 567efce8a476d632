//! The ServiceAccount `default` and the ConfigMap `kube-root-ca.crt` of every namespace.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery_store::{Entry, Range};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::created;
use crate::controllers::start::ensure;
use crate::controllers::trigger::{ChangeTrigger, RETRY_DELAY};
use crate::controllers::writes;
use crate::kind::{Kind, Subresource};
use crate::native;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::storage::{Moment, Stored};
use crate::strategy::metadata_mut;
use crate::verbs::output::read;

const ACCOUNT: &str = "default";
const ROOT_CA: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
/// The text that Kubernetes writes, which tools compare.
const DESCRIBED: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
     endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
     distributions of Kubernetes clusters.";

/// The objects of each namespace, with their kinds.
pub(super) struct NamespaceDefaults {
    namespace: Arc<Kind>,
    account: Arc<Kind>,
    config: Arc<Kind>,
    root_ca: Option<Arc<str>>,
}

/// Runs until the server stops.
pub(super) async fn run(shared: Arc<Shared>, defaults: NamespaceDefaults) {
    let changes = |kind: &Kind| ChangeTrigger::new(shared.clone(), kind.place.span(None));
    let NamespaceDefaults { namespace, account, config, .. } = &defaults;
    let (mut namespaces, mut accounts, mut configs) = (changes(namespace), changes(account), changes(config));
    loop {
        // Empty: all namespaces.
        let (mut due, mut of_accounts, mut of_configs) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        tokio::select! {
            biased;
            () = namespaces.next_of(|key| note(namespace.place.names(key).1, &mut due)) => {}
            () = accounts.next_of(|key| note_named(account, key, ACCOUNT, &mut of_accounts)) => {}
            () = configs.next_of(|key| note_named(config, key, ROOT_CA, &mut of_configs)) => {}
        }
        due.append(&mut of_accounts);
        due.append(&mut of_configs);
        while defaults.reconcile(&shared, &due).await.is_err() {
            sleep(RETRY_DELAY).await;
        }
    }
}

fn note(namespace: &str, due: &mut BTreeSet<String>) -> bool {
    if !due.contains(namespace) {
        due.insert(namespace.to_owned());
    }
    true
}

/// Notes the namespace of an object that has this name.
fn note_named(kind: &Kind, key: &str, name: &str, due: &mut BTreeSet<String>) -> bool {
    match kind.place.names(key) {
        (Some(namespace), found) if found == name => note(namespace, due),
        _ => false,
    }
}

impl NamespaceDefaults {
    pub(super) fn new(root_ca: Option<Arc<str>>) -> Self {
        Self {
            namespace: native::namespace(),
            account: native::service_account(),
            config: native::config_map(),
            root_ca,
        }
    }

    /// Creates the missing objects of these namespaces, or of all namespaces, and corrects changed
    /// ones.
    pub(super) async fn reconcile(&self, shared: &Shared, due: &BTreeSet<String>) -> Result<(), Refusal> {
        if !due.is_empty() {
            for name in due {
                let key = self.namespace.place.key(None, name);
                if let Some(entry) = shared.objects.get(&key, Moment::Newest).await? {
                    self.keep(shared, name, &entry).await?;
                }
            }
            return Ok(());
        }
        let listed = shared.objects.list(Range::of(self.namespace.place.span(None)), Moment::Newest).await?;
        for entry in &listed.entries {
            self.keep(shared, self.namespace.place.names(&entry.key).1, entry).await?;
        }
        Ok(())
    }

    /// Nothing is created in a namespace in deletion.
    async fn keep(&self, shared: &Shared, namespace: &str, entry: &Entry) -> Result<(), Refusal> {
        if Stored::of(&entry.value).is_ok_and(|object| object.is_deleting()) {
            return Ok(());
        }
        let there = |kind: &Kind, name: &str| kind.place.key(Some(namespace), name);
        if shared.objects.get(&there(&self.account, ACCOUNT), Moment::Newest).await?.is_none() {
            let account = json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {"name": ACCOUNT, "namespace": namespace},
            });
            created(ensure(shared, &self.account, account).await)?;
        }
        let Some(root_ca) = &self.root_ca else { return Ok(()) };
        match shared.objects.get(&there(&self.config, ROOT_CA), Moment::Newest).await? {
            Some(entry) => self.correct(shared, &entry, root_ca).await,
            None => created(ensure(shared, &self.config, of_root_ca(namespace, root_ca)).await),
        }
    }

    async fn correct(&self, shared: &Shared, entry: &Arc<Entry>, root_ca: &str) -> Result<(), Refusal> {
        let Ok(config) = read(&self.config, entry, entry.modified) else { return Ok(()) };
        let described = config["metadata"]["annotations"][DESCRIPTION].as_str().unwrap_or_default();
        let data = json!({"ca.crt": root_ca});
        if config["data"] == data && !described.is_empty() {
            return Ok(());
        }
        writes::update(shared, &self.config, entry, Subresource::Main, |config| {
            config["data"] = data.clone();
            let annotations = metadata_mut(config).entry("annotations").or_insert_with(|| json!({}));
            annotations[DESCRIPTION] = DESCRIBED.into();
        })
        .await
    }
}

fn of_root_ca(namespace: &str, root_ca: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": ROOT_CA, "namespace": namespace, "annotations": {DESCRIPTION: DESCRIBED}},
        "data": {"ca.crt": root_ca},
    })
}
