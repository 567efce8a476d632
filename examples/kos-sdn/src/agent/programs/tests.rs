use std::fs;

use machinery::tokio::sync::oneshot;

use super::*;

fn programs(change: impl FnOnce(&mut ProgramSettings)) -> ProgramRunner {
    let mut settings =
        ProgramSettings { allowed: BTreeSet::from(["/bin/sh".into()]), ..ProgramSettings::default() };
    change(&mut settings);
    ProgramRunner::new(settings, CancellationToken::new())
}

fn started(programs: &ProgramRunner, command: &[&str]) -> oneshot::Receiver<ExecReport> {
    let (sender, reports) = oneshot::channel();
    let command = command.iter().map(|part| (*part).to_owned()).collect();
    programs.start(command, async |report| drop(sender.send(report)));
    reports
}

async fn ran(programs: &ProgramRunner, command: &[&str]) -> ExecReport {
    started(programs, command).await.unwrap()
}

fn is_running(pid: &str) -> bool {
    // A zombie runs no more.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[tokio::test]
async fn program_output_is_reported() {
    let programs = programs(|_| {});
    let report = ran(&programs, &["/bin/sh", "-c", "echo out; echo err >&2; exit 3"]).await;
    assert_eq!((report.exit_status, &*report.std_out, &*report.std_err), (3, "out\n", "err\n"));
    assert_eq!(report.command[0], "/bin/sh");
    let nothing = ran(&programs, &["/nonexistent/program"]).await;
    assert_eq!(nothing.exit_status, DID_NOT_RUN);
    assert!(nothing.std_err.contains("No such file"), "{}", nothing.std_err);
    let killed = ran(&programs, &["/bin/sh", "-c", "kill -9 $$"]).await;
    assert_eq!(killed.exit_status, BY_SIGNAL);
}

#[tokio::test]
async fn programs_do_not_inherit_the_environment() {
    let report = ran(&programs(|_| {}), &["/usr/bin/env"]).await;
    assert_eq!(report.std_out, format!("PATH={PATH}\n"));
}

#[tokio::test]
async fn excess_output_is_truncated_without_blocking() {
    let programs = programs(|settings| settings.output = 100);
    let report =
        ran(&programs, &["/bin/sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; echo done >&2"]).await;
    assert_eq!((report.exit_status, &*report.std_err), (0, "done\n"));
    assert_eq!(report.std_out, format!("{}\n[cut after 100 bytes]", "x".repeat(100)));
}

/// Even if it ignores SIGTERM and has started descendants.
#[tokio::test]
async fn time_limit_kills_the_process_group() {
    let programs = programs(|settings| settings.time = Duration::from_millis(300));
    let script = "trap '' TERM; sleep 1000 & echo $!; while true; do sleep 0.1; done";
    let report = ran(&programs, &["/bin/sh", "-c", script]).await;
    assert_eq!(report.exit_status, TIMED_OUT);
    assert!(report.std_err.ends_with("killed, as it ran longer than 300ms"), "{}", report.std_err);
    let began = report.std_out.trim();
    assert!(!began.is_empty());
    while is_running(began) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let endless = ran(&programs, &["/usr/bin/yes"]).await;
    assert_eq!(endless.exit_status, TIMED_OUT);
}

#[tokio::test]
async fn inherited_output_does_not_delay_the_report() {
    let report = ran(&programs(|_| {}), &["/bin/sh", "-c", "sleep 1000 & echo $!"]).await;
    assert_eq!(report.exit_status, 0);
    while is_running(report.std_out.trim()) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn concurrent_and_waiting_programs_are_limited() {
    let programs = programs(|settings| (settings.at_once, settings.waiting) = (1, 1));
    let directory = tempfile::tempdir().unwrap();
    let gate = directory.path().join("gate");
    let wait = format!("until [ -e {0} ]; do sleep 0.02; done", gate.display());
    let (first, second) = (started(&programs, &["/bin/sh", "-c", &wait]), started(&programs, &["/bin/true"]));
    let third = ran(&programs, &["/bin/true"]).await;
    assert_eq!((third.exit_status, &*third.std_err), (DID_NOT_RUN, "1 programs wait on this node already"));
    fs::write(&gate, "").unwrap();
    assert_eq!([first.await.unwrap().exit_status, second.await.unwrap().exit_status], [0, 0]);
    assert_eq!(ran(&programs, &["/bin/true"]).await.exit_status, 0);
}

#[tokio::test]
async fn shutdown_kills_running_programs() {
    let programs = programs(|_| {});
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; sleep 1000", file.display());
    let reports = started(&programs, &["/bin/sh", "-c", &script]);
    while !file.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    programs.0.stopping.cancel();
    programs.drained().await;
    assert!(reports.await.is_err());
    let pid = fs::read_to_string(&file).unwrap();
    while is_running(pid.trim()) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn only_allowed_programs_run() {
    let programs = programs(|_| {});
    let exec = |path: &str| programs.not_allowed("postCreate", &[path.to_owned()]);
    assert_eq!(exec("/bin/sh"), None);
    assert_eq!(exec("/bin/../bin/sh").unwrap(), "postCreate specifies non-allowed path /bin/../bin/sh");
    assert_eq!(programs.not_allowed("postCreate", &[]), None);
}
