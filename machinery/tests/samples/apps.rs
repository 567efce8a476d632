//! The kinds of the sample controllers: an app that wants a name and so many children, and the lock of a name.

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

/// Which children a controller takes for an app's own.
pub(crate) type Adopts = fn(&App, &ConfigMap) -> bool;

/// Those that say so of it, UID and all. Every other way is wrong.
pub(crate) fn by_uid(app: &App, map: &ConfigMap) -> bool {
    owner_uid(map) == app.uid()
}

/// What is between an app's children and what it wants of them. Pure.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) create: Vec<ConfigMap>,
    pub(crate) update: Vec<ConfigMap>,
    pub(crate) delete: Vec<ConfigMap>,
    /// So many it has then. What is not its own and is called like one is in its way.
    pub(crate) children: u32,
}

/// Each child says `text`.
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

/// The app in whose way a map may be that is nobody's: it runs when such a map comes, and when it goes.
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

/// What is called like a child, and is a stranger's.
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
