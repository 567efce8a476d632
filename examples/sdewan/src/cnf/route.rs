//! The paths of the REST API.

use percent_encoding::percent_decode_str;

use crate::model::{CollectionId, Service};

/// The path of LuCI, below which everything is.
pub const BASE_PATH: &str = "/cgi-bin/luci";
/// The path of the whole configuration, below [`BASE_PATH`].
pub const CONFIG_PATH: &str = "/sdewan/v2/config";

/// The target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CnfRoute {
    /// The root of the server, for probes.
    Root,
    /// LuCI's page: a POST logs in.
    Login,
    /// The end of a session.
    Logout,
    /// A page that names the API.
    Index,
    /// A collection.
    Collection(CollectionId),
    /// An object.
    Object(CollectionId, String),
    /// The legacy services of the original, and one of them.
    LegacyServices(Option<String>),
    /// The names of the services.
    Services,
    /// A service.
    Service(Service),
    /// The status of all modules.
    Status,
    /// The status of one module.
    StatusModule(String),
    /// The whole configuration.
    Config,
    /// A path with too few or too many segments.
    BadUri,
    /// No path of the API.
    Unknown,
}

/// The classes of v1 with an index page.
const INDEXED: [&str; 7] = ["mwan3", "firewall", "ipsec", "route", "rule", "nat", "service"];
/// All services, in the order of the original.
pub(super) const SERVICES: [Service; 3] = [Service::Mwan3, Service::Firewall, Service::Ipsec];

impl CnfRoute {
    /// Returns the route of a path. Empty segments do not count, as in the original.
    #[must_use]
    pub fn of(path: &str) -> Self {
        let decoded: Option<Vec<String>> = path
            .split('/')
            .map(|segment| Some(percent_decode_str(segment).decode_utf8().ok()?.trim().to_owned()))
            .collect();
        let Some(segments) = decoded else { return Self::BadUri };
        let segments: Vec<&str> =
            segments.iter().map(String::as_str).filter(|segment| !segment.is_empty()).collect();
        match *segments.as_slice() {
            [] => Self::Root,
            ["cgi-bin", "luci"] => Self::Login,
            ["cgi-bin", "luci", "admin", "logout"] => Self::Logout,
            ["cgi-bin", "luci", "sdewan", ref rest @ ..] => Self::of_api(rest),
            _ => Self::Unknown,
        }
    }

    fn of_api(segments: &[&str]) -> Self {
        match *segments {
            ["v1"] => Self::Index,
            ["v1", "services"] => Self::Services,
            ["v1", "service", name] => {
                let service = SERVICES.into_iter().find(|service| service.name() == name);
                service.map_or(Self::BadUri, Self::Service)
            }
            ["v1", "service", ..] => Self::BadUri,
            ["v1", "status"] => Self::Status,
            ["v1", "status", module] => Self::StatusModule(module.to_owned()),
            ["v1", "status", ..] => Self::BadUri,
            ["v2", "config"] => Self::Config,
            [class, "v1"] if INDEXED.contains(&class) => Self::Index,
            ["service", "v1", "services"] => Self::LegacyServices(None),
            ["service", "v1", "services", name] => Self::LegacyServices(Some(name.to_owned())),
            [class, "v1", collection, ref rest @ ..] => {
                let id = CollectionId::of_path(&format!("{class}/v1/{collection}"));
                match (id, rest) {
                    (Some(id), []) => Self::Collection(id),
                    (Some(id), [name]) => Self::Object(id, (*name).to_owned()),
                    (Some(_), _) => Self::BadUri,
                    (None, _) if rest.len() > 1 && INDEXED.contains(&class) => Self::BadUri,
                    (None, _) => Self::Unknown,
                }
            }
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collection_and_page_has_its_path() {
        for collection in CollectionId::all() {
            let path = format!("{BASE_PATH}/sdewan/{}", collection.path());
            assert_eq!(CnfRoute::of(&path), CnfRoute::Collection(collection));
            let object = CnfRoute::Object(collection, "a b".into());
            assert_eq!(CnfRoute::of(&format!("{path}//a%20b/")), object);
            assert_eq!(CnfRoute::of(&format!("{path}/a/b")), CnfRoute::BadUri);
        }
        let route = |path: &str| CnfRoute::of(&format!("{BASE_PATH}/sdewan/{path}"));
        assert_eq!(route("v1/services"), CnfRoute::Services);
        assert_eq!(route("v1/service/ipsec"), CnfRoute::Service(Service::Ipsec));
        assert_eq!(route("v1/service/ssh"), CnfRoute::BadUri);
        assert_eq!(route("v1/service"), CnfRoute::BadUri);
        assert_eq!(route("v1/status/wan"), CnfRoute::StatusModule("wan".into()));
        assert_eq!(route("v2/config"), CnfRoute::Config);
        assert_eq!(route("mwan3/v1"), CnfRoute::Index);
        assert_eq!(route("v1"), CnfRoute::Index);
        assert_eq!(route("mwan3/v1/zones"), CnfRoute::Unknown);
        assert_eq!(route("mwan3/v1/a/b/c"), CnfRoute::BadUri);
        assert_eq!(route("mwan3/v1/rules/%ff"), CnfRoute::BadUri);
        assert_eq!(CnfRoute::of("/"), CnfRoute::Root);
        assert_eq!(CnfRoute::of("/cgi-bin/luci/"), CnfRoute::Login);
        assert_eq!(CnfRoute::of("/cgi-bin/luci/admin/logout"), CnfRoute::Logout);
        assert_eq!(CnfRoute::of("/etc/passwd"), CnfRoute::Unknown);
    }
}
