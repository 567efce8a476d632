//! The attacks. Each is a loop of a thread until the end of the siege. A refusal is no failure of
//! an attack, and a lost connection is opened again.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;

use super::connection::Connection;
use super::objects::{ATTACKED_MAPS, ATTACKED_PODS, DEFINITIONS, MAPS, REVIEWS, SECRETS, THINGS, definition};
use super::site::{NOBODY, OWNER, SiegeSite, VIEWER, WRITER, pause};
use super::{bodies, resets};

/// An attack: its name, the defect that it exploited, and its threads.
pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) story: &'static str,
    threads: usize,
    /// One round of a thread, on a connection of its own.
    round: fn(&mut Attacker) -> anyhow::Result<()>,
}

/// All attacks, by the sub-items of the report that found them.
pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "a-long-names",
        story: "each field error repeated a long key",
        threads: 2,
        round: long_names,
    },
    Attack {
        name: "a-long-applies",
        story: "each conflict repeated a long path",
        threads: 2,
        round: long_applies,
    },
    Attack {
        name: "a-long-review",
        story: "a review without rights took gigabytes",
        threads: 2,
        round: long_review,
    },
    Attack { name: "b-silent", story: "silent connections took all descriptors", threads: 4, round: silent },
    Attack {
        name: "c-unknown",
        story: "unauthenticated connections were kept",
        threads: 288,
        round: unknown,
    },
    Attack {
        name: "d-future",
        story: "requests of a future revision took all places",
        threads: 256,
        round: future,
    },
    Attack {
        name: "d-webhook",
        story: "writes at a hanging webhook took all places",
        threads: 256,
        round: webhook,
    },
    Attack {
        name: "e-history",
        story: "the history of one object filled memory",
        threads: 4,
        round: history,
    },
    Attack {
        name: "f-selector",
        story: "a label selector of 60 KB never yielded",
        threads: 2,
        round: selector,
    },
    Attack {
        name: "f-regexes",
        story: "three hundred regexes in a definition never yielded",
        threads: 1,
        round: regexes,
    },
    Attack { name: "f-enum", story: "an enum in a definition never yielded", threads: 1, round: enumeration },
    Attack { name: "f-warnings", story: "warning headers were not bounded", threads: 2, round: warnings },
    Attack {
        name: "g-resets",
        story: "resets of an authorized client cost more than a core",
        threads: 1,
        round: resets::round,
    },
];

/// Silent connections of one thread: together more than there are descriptors.
const SILENT: usize = 285;
/// The stack of a thread. There are many, and none recurses.
const STACK: usize = 256 << 10;
/// Timeout of each read: longer than any honest answer.
const TIMEOUT: Duration = Duration::from_secs(40);
/// The pause after a failed round, so that a refused connection is no busy loop.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// A thread of an attack.
pub(super) struct Attacker {
    pub(super) site: Arc<SiegeSite>,
    /// Its number in its attack.
    pub(super) number: usize,
    pub(super) rounds: usize,
    connection: Option<Connection>,
    silent: Vec<TcpStream>,
    /// A prepared body.
    body: Option<Vec<u8>>,
}

/// The threads of an attack, and the number of their completed rounds.
pub(super) struct RunningAttack {
    pub(super) name: &'static str,
    pub(super) rounds: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Attack {
    pub(super) fn start(&self, site: &Arc<SiegeSite>) -> anyhow::Result<RunningAttack> {
        let rounds = Arc::new(AtomicU64::new(0));
        let mut threads = Vec::new();
        for number in 0..self.threads {
            let (round, counted) = (self.round, rounds.clone());
            let mut attacker = Attacker {
                site: site.clone(),
                number,
                rounds: 0,
                connection: None,
                silent: Vec::new(),
                body: None,
            };
            let run = move || {
                while !attacker.site.is_over() {
                    match round(&mut attacker) {
                        Ok(()) => {
                            counted.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(_) => {
                            attacker.connection = None;
                            pause(AFTER_FAILURE);
                        }
                    }
                    attacker.rounds += 1;
                }
            };
            let thread = thread::Builder::new().name(self.name.to_owned()).stack_size(STACK);
            threads.push(thread.spawn(run).context("cannot start a thread of an attack")?);
        }
        Ok(RunningAttack { name: self.name, rounds, threads })
    }
}

impl RunningAttack {
    /// Waits for the threads. They end once the server has ended.
    pub(super) fn join(self) {
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

impl Attacker {
    /// Sends a request of a user on the kept connection.
    fn send(
        &mut self,
        token: Option<&str>,
        (method, path): (&str, &str),
        content_type: Option<&str>,
        body: &[u8],
    ) -> anyhow::Result<()> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.site, token, TIMEOUT)?,
        };
        connection.send(method, path, content_type, body)?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Sends a body that is made once.
    fn send_made(
        &mut self,
        token: &str,
        to: (&str, &str),
        content_type: Option<&str>,
        make: impl FnOnce(usize) -> Vec<u8>,
    ) -> anyhow::Result<()> {
        let body = self.body.take().unwrap_or_else(|| make(self.number));
        let sent = self.send(Some(token), to, content_type, &body);
        self.body = Some(body);
        sent
    }
}

fn long_names(attacker: &mut Attacker) -> anyhow::Result<()> {
    let path = format!("{THINGS}?fieldValidation=Strict");
    attacker.send_made(OWNER, ("POST", &path), None, |_| bodies::long_names())
}

fn long_applies(attacker: &mut Attacker) -> anyhow::Result<()> {
    let path = format!("{ATTACKED_PODS}/long?fieldManager=manager-{}", attacker.number);
    let content_type = Some("application/apply-patch+yaml");
    attacker.send_made(OWNER, ("PATCH", &path), content_type, bodies::long_pod)
}

fn long_review(attacker: &mut Attacker) -> anyhow::Result<()> {
    attacker.send_made(NOBODY, ("POST", REVIEWS), None, |_| bodies::long_review())
}

fn silent(attacker: &mut Attacker) -> anyhow::Result<()> {
    // A closed connection is replaced: a peek finds its end.
    attacker.silent.retain(|stream| {
        let _ = stream.set_nonblocking(true);
        !matches!(stream.peek(&mut [0]), Ok(0))
    });
    while attacker.silent.len() < SILENT && !attacker.site.is_over() {
        attacker.silent.push(TcpStream::connect_timeout(&attacker.site.address, Duration::from_secs(1))?);
    }
    pause(Duration::from_millis(200));
    Ok(())
}

fn unknown(attacker: &mut Attacker) -> anyhow::Result<()> {
    pause(Duration::from_secs(1));
    attacker.send(None, ("GET", "/api/v1/namespaces"), None, b"")
}

fn future(attacker: &mut Attacker) -> anyhow::Result<()> {
    let name = if attacker.number.is_multiple_of(2) { "/a" } else { "" };
    let path = format!("{MAPS}{name}?resourceVersion=9000000000");
    attacker.send(Some(VIEWER), ("GET", &path), None, b"")
}

fn webhook(attacker: &mut Attacker) -> anyhow::Result<()> {
    let make = |number| format!(r#"{{"metadata":{{"name":"siege-{number}"}}}}"#).into_bytes();
    attacker.send_made(WRITER, ("POST", SECRETS), None, make)
}

fn history(attacker: &mut Attacker) -> anyhow::Result<()> {
    let body = bodies::long_map(attacker.rounds);
    if attacker.rounds == 0 {
        return attacker.send(Some(OWNER), ("POST", ATTACKED_MAPS), None, &body);
    }
    attacker.send(Some(OWNER), ("PUT", &format!("{ATTACKED_MAPS}/history")), None, &body)
}

fn selector(attacker: &mut Attacker) -> anyhow::Result<()> {
    let path = format!("{MAPS}?labelSelector={}", bodies::long_selector());
    attacker.send(Some(VIEWER), ("GET", &path), None, b"")
}

fn regexes(attacker: &mut Attacker) -> anyhow::Result<()> {
    define(attacker, "regexes", bodies::regexes)
}

fn enumeration(attacker: &mut Attacker) -> anyhow::Result<()> {
    define(attacker, "enums", bodies::enumeration)
}

/// Creates a definition and deletes it again.
fn define(
    attacker: &mut Attacker,
    plural: &str,
    schema: impl Fn() -> serde_json::Value,
) -> anyhow::Result<()> {
    let make = |_| definition(plural, &schema()).to_string().into_bytes();
    attacker.send_made(OWNER, ("POST", DEFINITIONS), None, make)?;
    let path = format!("{DEFINITIONS}/{plural}.siege.machinery.dev");
    attacker.send(Some(OWNER), ("DELETE", &path), None, b"")
}

fn warnings(attacker: &mut Attacker) -> anyhow::Result<()> {
    let path = format!("{ATTACKED_MAPS}?fieldValidation=Warn&dryRun=All");
    attacker.send_made(OWNER, ("POST", &path), None, |_| bodies::warned())
}
