//! Sessions of logged-in clients. The time is an argument.

use std::collections::BTreeMap;

use machinery::tokio::time::Instant;

use super::limits::CnfLimits;

/// The name of the cookie that holds the token of a session, as in LuCI.
pub const SESSION_COOKIE: &str = "sysauth";

/// The sessions of a CNF, by their tokens.
#[derive(Debug)]
pub(super) struct Sessions {
    last_used: BTreeMap<String, Instant>,
    limits: CnfLimits,
}

impl Sessions {
    /// No sessions yet.
    #[must_use]
    pub(super) const fn new(limits: CnfLimits) -> Self {
        Self { last_used: BTreeMap::new(), limits }
    }

    /// Adds a session. Expired ones are removed, and the one that was used least recently, if there
    /// are as many as the limit permits.
    pub(super) fn open(&mut self, token: String, now: Instant) {
        let idle = self.limits.session_idle;
        self.last_used.retain(|_, used| now.saturating_duration_since(*used) < idle);
        while self.last_used.len() >= self.limits.sessions.max(1) {
            let oldest = self.last_used.iter().min_by_key(|(_, used)| **used).map(|(token, _)| token.clone());
            let Some(oldest) = oldest else { break };
            self.last_used.remove(&oldest);
        }
        self.last_used.insert(token, now);
    }

    /// Returns whether one of the cookies of a request is the token of a session, which is then
    /// used.
    pub(super) fn admit<'c>(&mut self, cookies: impl IntoIterator<Item = &'c str>, now: Instant) -> bool {
        for token in cookies.into_iter().filter_map(token) {
            match self.last_used.get_mut(token) {
                Some(used) if now.saturating_duration_since(*used) < self.limits.session_idle => {
                    *used = now;
                    return true;
                }
                Some(_) => drop(self.last_used.remove(token)),
                None => {}
            }
        }
        false
    }

    /// Ends the sessions of the cookies of a request.
    pub(super) fn close<'c>(&mut self, cookies: impl IntoIterator<Item = &'c str>) {
        for token in cookies.into_iter().filter_map(token) {
            self.last_used.remove(token);
        }
    }

    /// Ends all sessions.
    pub(super) fn clear(&mut self) {
        self.last_used.clear();
    }

    /// Returns whether there are none.
    #[must_use]
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.last_used.is_empty()
    }
}

/// Returns the cookies of a `Cookie` header.
pub(super) fn cookies(header: &str) -> impl Iterator<Item = &str> {
    header.split(';').map(str::trim)
}

fn token(cookie: &str) -> Option<&str> {
    let (name, token) = cookie.split_once('=')?;
    (name == SESSION_COOKIE && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sessions(count: usize) -> Sessions {
        Sessions::new(CnfLimits { sessions: count, ..CnfLimits::default() })
    }

    #[test]
    fn a_session_expires_when_it_is_not_used() {
        let (mut sessions, start) = (sessions(4), Instant::now());
        sessions.open("a".into(), start);
        let later = start + Duration::from_secs(3000);
        assert!(sessions.admit(cookies("other=1; sysauth=a"), later));
        assert!(sessions.admit(["sysauth=a"], later + Duration::from_secs(3599)));
        assert!(!sessions.admit(["sysauth=a"], later + Duration::from_secs(3599 + 3600)));
        assert!(sessions.is_empty());
    }

    #[test]
    fn other_cookies_and_tokens_are_no_session() {
        let (mut sessions, now) = (sessions(4), Instant::now());
        sessions.open("a".into(), now);
        for cookie in ["sysauth=", "sysauth=b", "sysauth", "xsysauth=a", "a", ""] {
            assert!(!sessions.admit(cookies(cookie), now), "{cookie}");
        }
    }

    #[test]
    fn the_least_recently_used_session_makes_room() {
        let (mut sessions, start) = (sessions(2), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        sessions.open("a".into(), at(0));
        sessions.open("b".into(), at(1));
        assert!(sessions.admit(["sysauth=a"], at(2)));
        sessions.open("c".into(), at(3));
        assert!(sessions.admit(["sysauth=a"], at(4)));
        assert!(!sessions.admit(["sysauth=b"], at(4)));
        assert!(sessions.admit(["sysauth=c"], at(4)));
    }

    #[test]
    fn a_closed_session_is_over() {
        let (mut sessions, now) = (sessions(2), Instant::now());
        sessions.open("a".into(), now);
        sessions.close(["sysauth=a"]);
        assert!(!sessions.admit(["sysauth=a"], now));
    }
}
