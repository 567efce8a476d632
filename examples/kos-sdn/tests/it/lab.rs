//! The lab, as root on this machine.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kos::drive::ovs::links::NAMESPACES;
use kos::lab::{
    Daemon, Lab, LabError, LabHost, LabSettings, ProcessStatus, down, missing_requirements, status,
};
use machinery::tokio;
use tempfile::TempDir;

/// A short directory: sockets have short paths.
pub(crate) struct Site {
    directory: TempDir,
    name: String,
}

impl Site {
    /// Returns `None`, and prints the reason, if this machine cannot run a lab.
    pub(crate) fn new(test: &str, name: &str) -> Option<Self> {
        let missing = missing_requirements();
        if !missing.is_empty() {
            // Past the harness, which keeps the output of tests that pass.
            let _ = writeln!(std::io::stderr().lock(), "SKIPPED: {test} needs {}", missing.join("; "));
            return None;
        }
        let directory = tempfile::Builder::new().prefix("kos-lab-").tempdir_in("/tmp").unwrap();
        Some(Self { directory, name: format!("{name}{}", std::process::id()) })
    }

    pub(crate) fn settings(&self, nodes: usize) -> LabSettings {
        let mut settings = LabSettings::new(self.directory.path().join("lab"), nodes);
        settings.name.clone_from(&self.name);
        settings
    }

    /// Fails if anything of the lab is left.
    pub(crate) fn assert_clean(&self, when: &str) {
        assert_eq!(fs::read_dir(self.directory.path()).unwrap().count(), 0, "files {when}");
        let prefix = format!("{}-", self.name);
        let names = fs::read_dir(NAMESPACES).into_iter().flatten().flatten();
        let names: Vec<_> = names
            .map(|name| name.file_name())
            .filter(|name| name.to_string_lossy().starts_with(&prefix))
            .collect();
        assert_eq!(names, Vec::<std::ffi::OsString>::new(), "{when}");
        assert!(!fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&prefix), "mounts {when}");
        assert_eq!(self.processes(), BTreeSet::new(), "processes {when}");
    }

    /// Processes with the lab's directory in their command line.
    fn processes(&self) -> BTreeSet<String> {
        let directory = self.directory.path().to_str().unwrap();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.filter(|line| line.contains(directory)).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let lab = self.directory.path().join("lab");
        if std::thread::panicking() && lab.exists() {
            let _ = kos(&["lab", "down", "--lab-dir", lab.to_str().unwrap()]).status();
        }
    }
}

fn kos(arguments: &[&str]) -> Command {
    let mut kos = Command::new(env!("CARGO_BIN_EXE_kos"));
    kos.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    kos
}

async fn ping(lab: &Lab, from: &LabHost, to: &LabHost) -> bool {
    let mut ping = tokio::process::Command::new("ping");
    ping.args(["-q", "-c", "1", "-W", "1", &to.address.to_string()]).stdout(Stdio::null());
    lab.exec(from, ping).await.unwrap().wait().await.unwrap().success()
}

/// Hosts reach each other through Open vSwitch within a time limit.
async fn wait_for_ping(lab: &Lab, from: &LabHost, to: &LabHost) {
    for _ in 0..60 {
        if ping(lab, from, to).await {
            return;
        }
    }
    panic!("{} does not reach {}", from.node, to.node);
}

#[tokio::test]
async fn hosts_reach_each_other_through_open_vswitch() {
    let Some(site) = Site::new("hosts_reach_each_other_through_open_vswitch", "lab-a") else { return };
    let lab = Lab::up(site.settings(2)).await.unwrap();
    assert!(matches!(Lab::up(site.settings(2)).await, Err(LabError::Exists { .. })));
    assert!(matches!(down(&lab.settings().directory).await, Err(LabError::Busy { .. })));
    let [one, two] = lab.hosts() else { panic!() };
    wait_for_ping(&lab, one, two).await;
    lab.set_cable(two, false).await.unwrap();
    assert!(!ping(&lab, one, two).await);
    lab.set_cable(two, true).await.unwrap();
    wait_for_ping(&lab, one, two).await;

    for daemon in Daemon::ALL {
        lab.kill(two, daemon).await.unwrap();
        let running =
            |processes: &[ProcessStatus]| processes.iter().filter(|process| process.running).count();
        let shown = status(&lab.settings().directory).unwrap();
        assert_eq!((running(&shown.hosts[0].1), running(&shown.hosts[1].1)), (2, 1));
        lab.start(two, daemon).await.unwrap();
        wait_for_ping(&lab, one, two).await;
    }
    for daemon in Daemon::ALL {
        lab.kill(two, daemon).await.unwrap();
    }
    lab.recreate_database(two).await.unwrap();
    for daemon in Daemon::ALL {
        lab.start(two, daemon).await.unwrap();
    }
    wait_for_ping(&lab, two, one).await;
    let directory = lab.settings().directory.clone();
    drop(lab);
    let mut exec =
        kos(&["lab", "exec", "node-2", "--lab-dir", directory.to_str().unwrap(), "--", "ovs-vsctl", "show"]);
    let shown = exec.stdout(Stdio::piped()).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("Port underlay"), "{shown:?}");
    down(&directory).await.unwrap();
    site.assert_clean("after down");
    down(&directory).await.unwrap();
}

/// `up` stops before and after each journal entry is written: before and after each effect.
#[tokio::test]
async fn down_removes_a_lab_stopped_at_any_effect() {
    let Some(site) = Site::new("down_removes_a_lab_stopped_at_any_effect", "lab-b") else { return };
    for stop_after in 0.. {
        let mut settings = site.settings(1);
        settings.stop_after = Some(stop_after);
        let made = Lab::up(settings).await;
        let is_whole = match made {
            Ok(_) => true,
            Err(LabError::Stopped) => false,
            Err(error) => panic!("{error}"),
        };
        drop(made);
        // Also `down` is repeated.
        for time in 1..=2 {
            down(&site.settings(1).directory).await.unwrap();
            site.assert_clean(&format!("after {stop_after} halves of entries and down number {time}"));
        }
        if is_whole {
            assert!(stop_after > 16, "there are only {stop_after} stops");
            return;
        }
    }
}

/// A kill at an arbitrary moment, in the middle of an effect.
#[tokio::test]
async fn down_removes_the_lab_of_a_killed_process() {
    let Some(site) = Site::new("down_removes_the_lab_of_a_killed_process", "lab-c") else { return };
    let directory = site.settings(1).directory;
    let directory = directory.to_str().unwrap();
    for delay in [5, 60, 150, 300, 500, 900] {
        let up = ["lab", "up", "--nodes", "2", "--lab-dir", directory, "--name", &site.name];
        let mut up = kos(&up).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(delay)).await;
        up.kill().unwrap();
        up.wait().unwrap();
        assert!(kos(&["lab", "down", "--lab-dir", directory]).status().unwrap().success());
        site.assert_clean(&format!("after a kill in {delay} ms"));
    }
}

#[tokio::test]
async fn foreign_files_and_namespaces_stay() {
    let Some(site) = Site::new("foreign_files_and_namespaces_stay", "lab-d") else { return };
    let directory = site.directory.path();
    fs::write(directory.join("file"), "").unwrap();
    let mut settings = site.settings(1);
    settings.directory = directory.into();
    assert!(matches!(Lab::up(settings).await, Err(LabError::NotEmpty { .. })));
    down(directory).await.unwrap();
    fs::remove_file(directory.join("file")).unwrap();

    let namespace = format!("{}-node-1", site.name);
    let ip = |command: &str| Command::new("ip").args(["netns", command, &namespace]).status().unwrap();
    assert!(ip("add").success());
    let failed = Lab::up(site.settings(1)).await.unwrap_err();
    assert!(failed.to_string().contains("belongs to"), "{failed}");
    down(&site.settings(1).directory).await.unwrap();
    assert!(Path::new(NAMESPACES).join(&namespace).exists());
    assert!(ip("delete").success());
    site.assert_clean("after down");
}
