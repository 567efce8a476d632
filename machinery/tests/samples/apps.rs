//! Kinds of the sample controllers: an app with a name and a number of children, and the lock of
//! the name.

use machinery::k8s_openapi::api::core::v1::ConfigMap;
use machinery::kube_core::{Resource, ResourceExt};
use machinery::objects::{ObjectKey, OwnerRef, Patch, PatchFormat};

machinery::kinds! {
    #[kube(group = "example.com", version = "v1", kind = "App", namespaced, status = "AppStatus")]
    pub struct AppSpec {
        pub name: String,
        pub children: u32,
    }
    #[derive(PartialEq)]
    pub struct AppStatus {
        pub name: Option<String>,
        pub children: u32,
    }
    #[kube(group = "example.com", version = "v1", kind = "AppName", namespaced)]
    pub struct AppNameSpec {}
}

pub(crate) fn app(key: &ObjectKey, name: &str, children: u32) -> App {
    let mut app = App::new(key.name(), AppSpec { name: name.into(), children });
    app.metadata.namespace = key.namespace().map(Into::into);
    app
}

pub(crate) fn lock(key: &ObjectKey, owner: &OwnerRef) -> AppName {
    let mut lock = AppName::new(key.name(), AppNameSpec {});
    lock.metadata.namespace = key.namespace().map(Into::into);
    lock.metadata.owner_references = Some(vec![owner.into()]);
    lock
}

/// Decides which children belong to an app.
pub(crate) type Adopts = fn(&App, &ConfigMap) -> bool;

/// Ownership by UID. Any other rule is wrong.
pub(crate) fn by_uid(app: &App, map: &ConfigMap) -> bool {
    owner_uid(map) == app.uid()
}

/// Difference between desired and existing children. Pure.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) create: Vec<ConfigMap>,
    pub(crate) update: Vec<ConfigMap>,
    pub(crate) delete: Vec<ConfigMap>,
    /// Resulting number of children. A foreign object with a child's name blocks it.
    pub(crate) children: u32,
}

/// Each child has this text.
pub(crate) fn plan<'a>(
    (app, adopts): (&App, Adopts),
    count: u32,
    text: &str,
    maps: impl Iterator<Item = &'a ConfigMap>,
) -> Plan {
    let mut plan = Plan::default();
    let mut missing: Vec<ConfigMap> = (0..count).map(|nth| child(app, nth, text)).collect();
    for map in maps.filter(|map| map.metadata.namespace == app.metadata.namespace) {
        let place = missing.iter().position(|wanted| wanted.metadata.name == map.metadata.name);
        let wanted = place.map(|place| missing.remove(place));
        match wanted {
            _ if !adopts(app, map) => continue,
            None if map.metadata.deletion_timestamp.is_none() => plan.delete.push(map.clone()),
            Some(wanted) if wanted.data != map.data => {
                plan.update.push(ConfigMap { data: wanted.data, ..map.clone() });
                plan.children += 1;
            }
            Some(_) => plan.children += 1,
            None => {}
        }
    }
    plan.children += u32::try_from(missing.len()).unwrap_or(u32::MAX);
    plan.create = missing;
    plan
}

/// Map function for a foreign ConfigMap that blocks a child: its app runs when it is created or
/// deleted.
pub(crate) fn in_whose_way(map: &ConfigMap) -> Option<ObjectKey> {
    let (name, _) = map.metadata.name.as_deref()?.rsplit_once('-')?;
    owner_uid(map).is_none().then(|| ObjectKey::new(map.metadata.namespace.as_deref(), name).ok())?
}

fn child(app: &App, nth: u32, text: &str) -> ConfigMap {
    let mut map = ConfigMap { data: Some([("text".into(), text.into())].into()), ..ConfigMap::default() };
    map.metadata.name = Some(format!("{}-{nth}", app.name_any()));
    map.metadata.namespace = app.metadata.namespace.clone();
    map.metadata.owner_references = app.controller_owner_ref(&()).map(|owner| vec![owner]);
    map
}

/// Foreign objects with the name of a child.
pub(crate) fn strangers(key: &ObjectKey) -> ConfigMap {
    let mut map = ConfigMap { data: Some([("text".into(), "theirs".into())].into()), ..ConfigMap::default() };
    map.metadata.name = Some(key.name().into());
    map.metadata.namespace = key.namespace().map(Into::into);
    map
}

pub(crate) fn merge(body: String) -> Patch {
    Patch { format: PatchFormat::Merge, body: body.into_bytes().into(), status: false }
}

pub(crate) fn owner_uid(map: &ConfigMap) -> Option<String> {
    let owners = map.metadata.owner_references.iter().flatten();
    owners.filter(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone()).next()
}
