//! A server of which the clock is wrong: a library before the one of the system moves its wall
//! clock.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::time::sleep;

use crate::client::Connection;
use crate::program::ServerProcess;

/// Adds the seconds in the file named by `CLOCK_AHEAD` to the wall clock.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long ahead(void) {
    long long seconds = 0;
    const char *path = getenv("CLOCK_AHEAD");
    FILE *file = path ? fopen(path, "re") : NULL;
    if (file) {
        if (fscanf(file, "%lld", &seconds) != 1) seconds = 0;
        fclose(file);
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += ahead();
    return result;
}
"#;

const YEAR: i64 = 365 * 24 * 3600;
const DISK: [&str; 4] = ["--listen", "127.0.0.1:0", "--data-dir", "data"];

/// The clock of the servers in a directory.
pub(crate) struct MovedClock {
    home: PathBuf,
    library: PathBuf,
}

impl MovedClock {
    /// Compiles the library; `None`, with a message, without a compiler or a dynamic linker.
    pub(crate) fn new(home: &Path) -> Option<Self> {
        let clock = Self::compiled(home);
        if clock.is_none() {
            // Bypasses the harness, which captures the output of passing tests.
            let _ = writeln!(
                std::io::stderr().lock(),
                "SKIPPED: no compiler, or no clock that a library can move"
            );
        }
        clock
    }

    fn compiled(home: &Path) -> Option<Self> {
        let (source, library) = (home.join("clock.c"), home.join("clock.so"));
        fs::write(&source, LIBRARY).unwrap();
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .status()
            .is_ok_and(|status| status.success());
        let clock = Self { home: home.to_owned(), library };
        clock.jump(10 * YEAR);
        let date = compiled.then(|| Command::new("date").arg("+%Y").envs(clock.environment()).output());
        let moved = date.and_then(Result::ok).and_then(|date| String::from_utf8(date.stdout).ok());
        let now = Command::new("date").arg("+%Y").output().ok()?.stdout;
        let now: i32 = String::from_utf8(now).ok()?.trim().parse().ok()?;
        clock.jump(0);
        moved.filter(|moved| moved.trim().parse::<i32>().is_ok_and(|moved| moved >= now + 9)).map(|_| clock)
    }

    /// Sets the seconds by which the clock is ahead.
    pub(crate) fn jump(&self, ahead: i64) {
        let new = self.home.join("ahead.new");
        fs::write(&new, ahead.to_string()).unwrap();
        fs::rename(new, self.home.join("ahead")).unwrap();
    }

    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [("LD_PRELOAD", self.library.clone()), ("CLOCK_AHEAD", self.home.join("ahead"))]
    }

    async fn start(&self) -> ServerProcess {
        ServerProcess::start_with(&DISK, &self.home, &self.environment()).await
    }
}

/// Story: the clock was a year ahead for seconds, and kubectl was locked out, also after a restart.
#[tokio::test]
async fn a_clock_a_year_ahead_for_seconds_locks_no_client_out() {
    let home = tempfile::tempdir().unwrap();
    let Some(clock) = MovedClock::new(home.path()) else { return };
    let serving = clock.start().await;
    let access = serving.access.clone();
    let made = |serving: &ServerProcess| serving.stderr().matches("made ").count();
    assert_eq!(made(&serving), 3);
    clock.jump(YEAR);
    // Longer than the interval in which the server looks at its certificates.
    sleep(Duration::from_secs(7)).await;
    let mut client = Connection::to(&serving.access).await.expect("a client connects during the jump");
    let map = json!({"metadata": {"name": "a"}});
    let (code, _) =
        client.request(Method::POST, "/api/v1/namespaces/default/configmaps", Some(&map)).await.unwrap();
    assert_eq!(code, 201);
    clock.jump(0);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(made(&serving), 3, "{}", serving.stderr());
    Connection::to(&serving.access).await.expect("a client connects after it");
    serving.kill().await;

    for ahead in [0, YEAR, 0] {
        clock.jump(ahead);
        let serving = clock.start().await;
        Connection::to(&serving.access).await.expect("a client connects after a restart");
        let former = crate::program::Access { address: serving.access.address, ..access.clone() };
        Connection::to(&former).await.expect("also with the kubeconfig of before");
        serving.kill().await;
    }
}

#[tokio::test]
async fn a_start_with_the_clock_before_1970_names_the_remedy() {
    let home = tempfile::tempdir().unwrap();
    let Some(clock) = MovedClock::new(home.path()) else { return };
    clock.jump(-60 * YEAR);
    for arguments in [&["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"][..], &["serve", "--memory"]]
    {
        let done = Command::new(env!("CARGO_BIN_EXE_machinery"))
            .args(arguments)
            .envs(clock.environment())
            .current_dir(home.path())
            .output()
            .unwrap();
        let text = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{text}");
        assert!(text.contains("before 1970; set it, and start again"), "{text}");
        assert!(!text.contains("panicked"), "{text}");
        assert!(!home.path().join("data").exists(), "nothing is written");
    }
}
