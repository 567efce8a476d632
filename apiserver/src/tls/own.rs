//! The certificates that a server makes for itself, in a directory that only it may read:
//! `ca.crt`, `server.crt`, `admin.crt`, and their keys.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rcgen::{KeyPair, PublicKeyData as _};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::authority::{self, Authority, IssueTime, Pair};
use super::pem;
use crate::auth::identity::{Identity, MASTERS};
use crate::auth::private::{self, FileError};

/// Certificates with less than thirty days of validity are renewed.
const SPARE_SECONDS: i64 = 30 * 24 * 3600;

/// Names and addresses in every server certificate.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The directory, and the names and addresses that the server's certificate is for.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedCertificates {
    directory: PathBuf,
    hosts: Vec<String>,
}

/// The contents of the directory.
#[derive(Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "a server reads the files; tests compare what was made"))]
pub(crate) struct Certificates {
    /// The authority of the server and its clients; PEM.
    pub(crate) ca: String,
    pub(crate) server: Pair,
    /// The certificate of the administrator, in `system:masters`.
    pub(crate) admin: Pair,
    /// Certificates that were generated now, with the reason, or must be replaced by hand: a line
    /// each, for users.
    pub(crate) notes: Vec<String>,
}

impl GeneratedCertificates {
    /// Certificates for the local host and these `hosts`: names and addresses.
    pub(crate) fn new(directory: impl Into<PathBuf>, hosts: impl IntoIterator<Item = String>) -> Self {
        let mut all = LOCAL.map(str::to_owned).to_vec();
        for host in hosts {
            if !all.contains(&host) {
                all.push(host);
            }
        }
        Self { directory: directory.into(), hosts: all }
    }

    /// Reads the certificates. Generates missing ones; and again those that expire within thirty
    /// days, that are not valid yet or that another authority issued, and the server's, if a host
    /// is missing from it. The authority's key stays, so certificates that it issued stay valid.
    ///
    /// An existing file that cannot be read is an error, and is not overwritten.
    pub(crate) fn open(&self, now: Timestamp) -> Result<Certificates, FileError> {
        private::make_directory(&self.directory)?;
        let mut notes = Vec::new();
        let (ca, der, authority) = self.authority(now, &mut notes)?;
        let of_admin = Fits { ca: &der, hosts: &[], now };
        let of_server = Fits { hosts: &self.hosts, ..of_admin };
        let user = Identity::admin().user;
        let server =
            self.leaf("server", &of_server, &mut notes, |time| authority.server(&self.hosts, time))?;
        let admin =
            self.leaf("admin", &of_admin, &mut notes, |time| authority.client(&user, MASTERS, time))?;
        Ok(Certificates { ca, server, admin, notes })
    }

    /// Checks that the existing files can be read. Writes nothing.
    pub(super) fn check(&self) -> Result<(), FileError> {
        ["ca", "server", "admin"].iter().try_for_each(|name| self.read(name).map(|_| ()))
    }

    /// Checks that the authority is still there. A running server does not make another one, since
    /// its clients would not know it.
    pub(super) fn check_authority(&self) -> Result<(), FileError> {
        let [_, key] = self.pair_paths("ca");
        match private::read(&key)? {
            Some(_) => Ok(()),
            None => {
                let remedy = "put it back, or start the server again to have another authority made";
                Err(FileError::new(&key, "it is gone", remedy))
            }
        }
    }

    /// Returns the paths of the server's certificate and key, and of the authority's certificate.
    pub(super) fn paths(&self) -> [PathBuf; 3] {
        ["server.crt", "server.key", "ca.crt"].map(|name| self.directory.join(name))
    }

    fn authority(
        &self,
        now: Timestamp,
        notes: &mut Vec<String>,
    ) -> Result<(String, CertificateDer<'static>, Authority), FileError> {
        let [path, key_path] = self.pair_paths("ca");
        let wrong = |what: &dyn std::fmt::Display| {
            FileError::new(&path, what, "put another one there with its key, or remove ca.* to begin anew")
        };
        let mut time = IssueTime { now, end: None };
        let (why, key) = match self.read("ca")? {
            There::Pair(pair, der, key) => {
                let (is_ca, ours, (day, left), early) = {
                    let certificate = pem::parsed(&der).map_err(|what| wrong(&what))?;
                    let early = pem::not_begun(&certificate, now);
                    (
                        certificate.is_ca(),
                        authority::is_ours(&certificate),
                        pem::end(&certificate, now),
                        early,
                    )
                };
                if !is_ca {
                    return Err(wrong(&"its certificate may make no others"));
                }
                let early = early.filter(|_| ours);
                if early.is_none() && left >= SPARE_SECONDS || !ours && left > 0 {
                    if left < SPARE_SECONDS {
                        notes.push(format!("{}: it ends on {day}; put a new one there", path.display()));
                    }
                    let authority = Authority::of(&der, key).map_err(|error| wrong(&error))?;
                    return Ok((pair.certificate, der, authority));
                }
                if !ours {
                    return Err(wrong(&format_args!("it ended on {day}")));
                }
                time.end = early.as_ref().map(|(_, end)| *end);
                let ends = || format!("the last one ends on {day}");
                (early.map_or_else(ends, |(day, _)| format!("the last one begins on {day}")), key)
            }
            // The process stopped between the two writes. With the same key, certificates issued by
            // it are still valid.
            There::Key(key) => ("there was none".to_owned(), key),
            There::Nothing => {
                let key = KeyPair::generate().map_err(|error| wrong(&error))?;
                private::write(&key_path, &key.serialize_pem())?;
                ("there was none".to_owned(), key)
            }
        };
        let pem = Authority::certificate(&key, time).map_err(|error| not_made(&path, &error))?;
        private::write(&path, &pem)?;
        notes.push(format!("made {}: {why}", path.display()));
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).expect("it was made just now");
        let authority = Authority::of(&der, key).map_err(|error| not_made(&path, &error))?;
        Ok((pem, der, authority))
    }

    fn leaf(
        &self,
        name: &str,
        fits: &Fits<'_>,
        notes: &mut Vec<String>,
        make: impl FnOnce(IssueTime) -> Result<Pair, rcgen::Error>,
    ) -> Result<Pair, FileError> {
        let mut time = IssueTime { now: fits.now, end: None };
        let (why, last) = match self.read(name)? {
            There::Nothing | There::Key(_) => ("there was none".to_owned(), None),
            There::Pair(pair, der, _) => match fits.why_not(&der) {
                Some((why, end)) => {
                    time.end = end;
                    (why, fits.is_valid(&der).then_some(pair))
                }
                None => return Ok(pair),
            },
        };
        let [path, key_path] = self.pair_paths(name);
        let pair = make(time).map_err(|error| not_made(&path, &error))?;
        let staged = private::stage(&key_path, &pair.key)
            .and_then(|key| Ok((key, private::stage(&path, &pair.certificate)?)));
        let (key, certificate) = match (staged, last) {
            (Err(error), Some(last)) if error.full => {
                notes.push(format!("{why}, and another one was not written: {error}"));
                return Ok(last);
            }
            (staged, _) => staged?,
        };
        // Should the process end between these, there is a key alone, and both are made again.
        private::remove(&path)?;
        key.place()?;
        certificate.place()?;
        notes.push(format!("made {}: {why}", path.display()));
        Ok(pair)
    }

    fn read(&self, name: &str) -> Result<There, FileError> {
        let [path, key_path] = self.pair_paths(name);
        let wrong = |path: &Path, what: &str| {
            let remedy = format_args!("put the right file back, or remove {name}.* to have both made anew");
            FileError::new(path, what, remedy)
        };
        let (certificate, key) = match (private::read(&path)?, private::read(&key_path)?) {
            (None, None) => return Ok(There::Nothing),
            (Some(_), None) => return Err(wrong(&key_path, "its certificate is there, and it is not")),
            (certificate, Some(key)) => (certificate, key),
        };
        private::check_mode(&key_path)?;
        let pair = KeyPair::from_pem(&key).map_err(|_| wrong(&key_path, "it is no key in PEM of PKCS #8"))?;
        let Some(certificate) = certificate else { return Ok(There::Key(pair)) };
        let der = CertificateDer::from_pem_slice(certificate.as_bytes());
        let der = der.map_err(|_| wrong(&path, "it is no certificate in PEM"))?;
        let public = pair.subject_public_key_info();
        let fits = pem::parsed(&der).map(|parsed| parsed.public_key().raw == public);
        if !fits.map_err(|what| wrong(&path, what))? {
            return Err(wrong(&path, "it is not for the key beside it"));
        }
        Ok(There::Pair(Pair { certificate, key }, der, pair))
    }

    fn pair_paths(&self, name: &str) -> [PathBuf; 2] {
        ["crt", "key"].map(|ending| self.directory.join(format!("{name}.{ending}")))
    }
}

/// Which files of a pair are there.
enum There {
    Nothing,
    Key(KeyPair),
    Pair(Pair, CertificateDer<'static>, KeyPair),
}

/// The requirements for keeping a certificate.
#[derive(Clone, Copy)]
struct Fits<'a> {
    ca: &'a CertificateDer<'static>,
    hosts: &'a [String],
    now: Timestamp,
}

impl Fits<'_> {
    /// Returns whether clients accept the certificate at present, perhaps not for all hosts.
    fn is_valid(&self, der: &CertificateDer<'static>) -> bool {
        let (Ok(certificate), Ok(ca)) = (pem::parsed(der), pem::parsed(self.ca)) else { return false };
        certificate.verify_signature(Some(ca.public_key())).is_ok()
            && pem::not_begun(&certificate, self.now).is_none()
            && pem::end(&certificate, self.now).1 > 0
    }

    /// Returns the reason for another certificate, and the end of one that has not begun.
    fn why_not(&self, der: &CertificateDer<'static>) -> Option<(String, Option<Timestamp>)> {
        let (Ok(certificate), Ok(ca)) = (pem::parsed(der), pem::parsed(self.ca)) else {
            return Some(("the last one cannot be read".into(), None));
        };
        let issued = certificate.issuer().as_raw() == ca.subject().as_raw()
            && certificate.verify_signature(Some(ca.public_key())).is_ok();
        if !issued {
            return Some(("the last one is of another authority".into(), None));
        }
        if !pem::is_for(&certificate, self.hosts) {
            return Some((format!("the last one is not for all of {}", self.hosts.join(", ")), None));
        }
        if let Some((day, end)) = pem::not_begun(&certificate, self.now) {
            return Some((format!("the last one begins on {day}"), Some(end)));
        }
        let (day, left) = pem::end(&certificate, self.now);
        (left < SPARE_SECONDS).then(|| (format!("the last one ends on {day}"), None))
    }
}

fn not_made(path: &Path, error: &rcgen::Error) -> FileError {
    FileError::new(path, format_args!("making it failed: {error}"), "check the clock and the host names")
}
