//! Refuses requests of web pages to a server without TLS and authentication.
//!
//! Every client of such a server is an administrator, and a browser is a client of any page's
//! choice: by a form, or by a name that resolves to a loopback address (DNS rebinding). A page
//! cannot change the headers `Host` and `Origin`.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Request};

use crate::refusal::Refusal;

/// The names under which a server without TLS is reached.
#[derive(Clone, Debug)]
pub(super) struct LocalNames {
    hosts: Vec<String>,
}

impl LocalNames {
    /// Loopback names, and these names and addresses.
    pub(super) fn new(hosts: Vec<String>) -> Self {
        Self { hosts }
    }

    /// Checks `Host` and `Origin` of a request to the address `local`. Requests without them are
    /// not of a browser.
    ///
    /// # Errors
    /// 403 for another name, or a page of another origin.
    pub(super) fn check<B>(&self, request: &Request<B>, local: Option<IpAddr>) -> Result<(), Refusal> {
        let headers = request.headers();
        let host = match (request.uri().authority(), header(headers, &HOST)?) {
            (Some(authority), _) => Some(authority.clone()),
            (None, Some(host)) => Some(host.parse().map_err(|_| foreign("Host", host))?),
            (None, None) => None,
        };
        if let Some(host) = &host
            && !self.has(host, local)
        {
            return Err(foreign("Host", host.as_str()));
        }
        match (header(headers, &ORIGIN)?, host) {
            (None, _) => Ok(()),
            (Some(origin), Some(host)) if origin.strip_prefix("http://") == Some(host.as_str()) => Ok(()),
            (Some(origin), _) => Err(foreign("Origin", origin)),
        }
    }

    fn has(&self, host: &Authority, local: Option<IpAddr>) -> bool {
        let name = host.host();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        if let Ok(address) = address {
            let address = address.to_canonical();
            return address.is_loopback()
                || local.is_some_and(|local| local.to_canonical() == address)
                || self.hosts.iter().any(|host| host.parse::<IpAddr>() == Ok(address));
        }
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        name == "localhost"
            || name.ends_with(".localhost")
            || self.hosts.iter().any(|host| host.eq_ignore_ascii_case(&name))
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> Result<Option<&'a str>, Refusal> {
    let value = headers.get(name).map(|value| value.to_str().map_err(|_| foreign(name.as_str(), "?")));
    value.transpose()
}

fn foreign(header: &str, value: &str) -> Refusal {
    let message = format!(
        "{header} {value:?} is not a name of this server, which serves every client as an administrator: use \
         localhost or the listen address, or start it with --host"
    );
    Refusal::new(403, "Forbidden", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, origin: Option<&str>, is_allowed: bool) {
        let names = LocalNames::new(vec!["plane.example.com".into(), "192.0.2.7".into()]);
        let mut request = Request::get("/api").header(HOST, host);
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        let request = request.body(()).expect("a request");
        let checked = names.check(&request, "192.0.2.1".parse().ok());
        assert_eq!(checked.is_ok(), is_allowed, "{host} {origin:?}: {checked:?}");
        assert!(checked.map_or_else(|refusal| refusal.code == 403, |()| true));
    }

    #[test]
    fn only_names_of_the_server_are_hosts() {
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.:8080",
            "a.localhost",
            "127.0.0.1:8080",
            "127.9.9.9",
            "[::1]:8080",
            "[::ffff:127.0.0.1]",
            "192.0.2.1:80",
            "192.0.2.7",
            "Plane.example.com:80",
        ] {
            check(host, None, true);
        }
        for host in [
            "evil.example.com",
            "evil.example.com:8080",
            "localhost.evil.example.com",
            "127.0.0.1.evil.example.com",
            "192.0.2.2",
            "[2001:db8::1]:80",
            "",
            "a b",
        ] {
            check(host, None, false);
        }
    }

    #[test]
    fn only_pages_of_the_server_are_origins() {
        check("localhost:80", Some("http://localhost:80"), true);
        check("localhost:80", Some("http://localhost"), false);
        check("localhost:80", Some("http://localhost:3000"), false);
        check("localhost:80", Some("https://localhost:80"), false);
        check("localhost:80", Some("http://evil.example.com"), false);
        check("localhost:80", Some("null"), false);
        check("evil.example.com", Some("http://evil.example.com"), false);
    }

    #[test]
    fn requests_without_the_headers_are_not_of_browsers() {
        let request = Request::get("/api").body(()).expect("a request");
        assert_eq!(LocalNames::new(Vec::new()).check(&request, None), Ok(()));
        let request = Request::get("http://evil.example.com/api").body(()).expect("a request");
        assert!(LocalNames::new(Vec::new()).check(&request, None).is_err(), "HTTP/2 has the name in the URI");
    }
}
