//! The kinds of the sample controllers: an app that wants a name and so many children, and the lock of a name.

use machinery::k8s_openapi::api::core::v1::ConfigMap;
use machinery::kube_core::{Resource, ResourceExt};
use machinery::objects::{ObjectKey, OwnerRef};

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

/// What is between an app's children and what it wants of them. Pure.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) create: Vec<ConfigMap>,
    pub(crate) update: Vec<ConfigMap>,
    pub(crate) delete: Vec<ConfigMap>,
}

/// Each child says `text`. Only what the app owns, UID and all, is its own.
pub(crate) fn plan<'a>(app: &App, count: u32, text: &str, maps: impl Iterator<Item = &'a ConfigMap>) -> Plan {
    let (mut plan, mut there) = (Plan::default(), Vec::new());
    let wanted: Vec<ConfigMap> = (0..count).map(|nth| child(app, nth, text)).collect();
    for map in maps.filter(|map| owner_uid(map) == app.uid()) {
        there.push(map.name_any());
        match wanted.iter().find(|wanted| wanted.metadata.name == map.metadata.name) {
            None if map.metadata.deletion_timestamp.is_none() => plan.delete.push(map.clone()),
            Some(wanted) if wanted.data != map.data => {
                plan.update.push(ConfigMap { data: wanted.data.clone(), ..map.clone() });
            }
            _ => {}
        }
    }
    plan.create = wanted.into_iter().filter(|child| !there.contains(&child.name_any())).collect();
    plan
}

fn child(app: &App, nth: u32, text: &str) -> ConfigMap {
    let mut map = ConfigMap { data: Some([("text".into(), text.into())].into()), ..ConfigMap::default() };
    map.metadata.name = Some(format!("{}-{nth}", app.name_any()));
    map.metadata.namespace = app.metadata.namespace.clone();
    map.metadata.owner_references = app.controller_owner_ref(&()).map(|owner| vec![owner]);
    map
}

pub(crate) fn owner_uid(map: &ConfigMap) -> Option<String> {
    let owners = map.metadata.owner_references.iter().flatten();
    owners.filter(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone()).next()
}
