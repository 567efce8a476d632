//! LuCI's login: a form, a cookie, and 403 without one.

use http::StatusCode;
use http::header::{COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use machinery::sync::Mutex;
use machinery::tokio::time::Instant;
use percent_encoding::percent_decode;

use super::limits::CnfLimits;
use super::password::PasswordSource;
use super::request::CnfAnswer;
use super::route::BASE_PATH;
use super::session::{SESSION_COOKIE, Sessions, cookies};

/// Opens, checks and closes sessions.
#[derive(Debug)]
pub(super) struct Logins {
    password: PasswordSource,
    sessions: Mutex<Sessions>,
}

impl Logins {
    /// No session is open.
    #[must_use]
    pub(super) const fn new(password: PasswordSource, limits: CnfLimits) -> Self {
        Self { password, sessions: Mutex::new(Sessions::new(limits)) }
    }

    /// Answers the form `luci_username=…&luci_password=…`: 302 with the cookie, or 403.
    pub(super) fn log_in(&self, form: &[u8], now: Instant) -> CnfAnswer {
        let [mut user, mut password] = [String::new(), String::new()];
        for (name, value) in form_fields(form) {
            match &*name {
                "luci_username" => user = value,
                "luci_password" => password = value,
                _ => {}
            }
        }
        match self.password.admits(&user, &password) {
            Ok(true) => {}
            Ok(false) => return forbidden("the user or the password is wrong"),
            Err(error) => {
                tracing::warn!(%error, "the password of the CNF cannot be read");
                return CnfAnswer::message(StatusCode::INTERNAL_SERVER_ERROR, "the password cannot be read");
            }
        }
        let Some(token) = random_token() else {
            return CnfAnswer::message(StatusCode::INTERNAL_SERVER_ERROR, "no randomness for a token");
        };
        let cookie =
            format!("{SESSION_COOKIE}={token}; path={BASE_PATH}/; HttpOnly; SameSite=Strict; Secure");
        self.sessions.lock().open(token, now);
        CnfAnswer::empty(StatusCode::FOUND).with(SET_COOKIE, &cookie).with(LOCATION, &format!("{BASE_PATH}/"))
    }

    /// Returns whether the cookie of a request is of a session.
    pub(super) fn admits(&self, headers: &HeaderMap, now: Instant) -> bool {
        self.sessions.lock().admit(of(headers), now)
    }

    /// Ends the session of a request.
    pub(super) fn log_out(&self, headers: &HeaderMap) -> CnfAnswer {
        self.sessions.lock().close(of(headers));
        CnfAnswer::empty(StatusCode::FOUND).with(LOCATION, &format!("{BASE_PATH}/"))
    }

    /// Ends all sessions, as a restart of the device does.
    pub(super) fn forget(&self) {
        self.sessions.lock().clear();
    }
}

/// The answer to a request without a session.
pub(super) fn forbidden(why: &str) -> CnfAnswer {
    CnfAnswer::message(StatusCode::FORBIDDEN, &format!("Forbidden: {why}"))
}

fn of(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok()).flat_map(cookies)
}

/// Returns the fields of a form, decoded.
fn form_fields(form: &[u8]) -> impl Iterator<Item = (String, String)> {
    let decoded = |text: &[u8]| {
        let spaces: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
        percent_decode(&spaces).decode_utf8_lossy().into_owned()
    };
    form.split(|byte| *byte == b'&').map(move |field| {
        let mut parts = field.splitn(2, |byte| *byte == b'=');
        (decoded(parts.next().unwrap_or_default()), decoded(parts.next().unwrap_or_default()))
    })
}

fn random_token() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
