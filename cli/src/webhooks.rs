//! Addresses and certificate authorities of the webhooks of `machinery serve`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Context;
use machinery::apiserver::Builder;

/// Flags for webhooks: there is no cluster network to resolve services in, and the authorities of
/// the machine are not trusted.
#[derive(clap::Args)]
pub(crate) struct WebhookArgs {
    /// Address of a webhook's service: NAMESPACE/NAME:PORT=ADDRESS:PORT. The first port defaults to
    /// 443. May be repeated
    #[arg(long, value_name = "S=A")]
    webhook_service: Vec<ServiceAddress>,
    /// Certificate authorities of webhooks without a caBundle
    #[arg(long, value_name = "F")]
    webhook_ca_file: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ServiceAddress {
    namespace: String,
    name: String,
    port: u16,
    at: SocketAddr,
}

/// Addresses of webhook services, and the authorities of their certificates.
pub(crate) struct WebhookTargets {
    services: BTreeMap<(String, String, u16), SocketAddr>,
    roots: Option<Vec<u8>>,
}

impl WebhookArgs {
    /// Reads the authorities, and returns them with the services' addresses.
    pub(crate) fn targets(&self) -> anyhow::Result<WebhookTargets> {
        let roots = self.webhook_ca_file.as_ref().map(|path| {
            std::fs::read(path).with_context(|| format!("cannot read the authorities in {}", path.display()))
        });
        let services = self.webhook_service.iter().cloned();
        let services =
            services.map(|ServiceAddress { namespace, name, port, at }| ((namespace, name, port), at));
        Ok(WebhookTargets { services: services.collect(), roots: roots.transpose()? })
    }
}

impl WebhookTargets {
    /// Configures a server's builder.
    pub(crate) fn configure(self, builder: Builder) -> Builder {
        let Self { services, roots } = self;
        let builder = match services.is_empty() {
            true => builder,
            false => builder.webhook_services(move |namespace, name, port| {
                services.get(&(namespace.to_owned(), name.to_owned(), port)).copied()
            }),
        };
        match roots {
            Some(roots) => builder.webhook_roots(roots),
            None => builder,
        }
    }
}

impl FromStr for ServiceAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("{text:?} is not of the form NAMESPACE/NAME:PORT=ADDRESS:PORT");
        let (service, at) = text.split_once('=').ok_or_else(form)?;
        let (namespace, name) = service.split_once('/').ok_or_else(form)?;
        let (name, port) = match name.split_once(':') {
            Some((name, port)) => (name, port.parse().map_err(|_| form())?),
            None => (name, 443),
        };
        if namespace.is_empty() || name.is_empty() {
            return Err(form());
        }
        let at = at.parse().map_err(|_| {
            format!("{at:?} is no address with a port, like 127.0.0.1:9443: names are not looked up")
        })?;
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned(), port, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_addresses_are_parsed() {
        let of = |name: &str, port, at: &str| {
            let at = at.parse().expect("an address");
            Ok(ServiceAddress { namespace: "ops".into(), name: name.into(), port, at })
        };
        assert_eq!("ops/hook=127.0.0.1:9443".parse(), of("hook", 443, "127.0.0.1:9443"));
        assert_eq!("ops/hook:8443=[::1]:1".parse(), of("hook", 8443, "[::1]:1"));
        for wrong in
            ["", "ops/hook", "hook=127.0.0.1:1", "ops/=127.0.0.1:1", "/a=127.0.0.1:1", "ops/a:x=127.0.0.1:1"]
        {
            let why = wrong.parse::<ServiceAddress>().expect_err(wrong);
            assert!(why.contains("NAMESPACE/NAME:PORT=ADDRESS:PORT"), "{why}");
        }
        assert!(
            "ops/a=host:1".parse::<ServiceAddress>().expect_err("a name").contains("names are not looked up")
        );
    }
}
