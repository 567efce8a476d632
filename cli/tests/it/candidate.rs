//! A candidate process: writes under the fence of its term while it leads, and a little longer.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use machinery::controllers::{ElectionConfig, Term};
use machinery::k8s_openapi::api::core::v1::ConfigMap;
use machinery::objects::{Conflict, Preconditions, WriteError, Writer};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use crate::program::TIMEOUT;

const KUBECONFIG: &str = "CANDIDATE_KUBECONFIG";
const NAME: &str = "CANDIDATE_NAME";
pub(crate) const LEASE: &str = "default/candidates";
pub(crate) const RECORD: &str = "record";
/// Answers that a candidate awaits after the end of its term, for its writes in flight.
pub(crate) const LATE_ANSWERS: usize = 3;

/// Not a test: the main function of a [`Candidate`]'s process.
#[tokio::test]
async fn candidate() {
    let (Ok(kubeconfig), Ok(name)) = (std::env::var(KUBECONFIG), std::env::var(NAME)) else { return };
    let plane = machinery::kubeconfig(kubeconfig).start().await.unwrap();
    let election = ElectionConfig {
        lease_duration: Duration::from_secs(3),
        renew_deadline: Duration::from_secs(2),
        retry_period: Duration::from_millis(200),
        ..ElectionConfig::new(LEASE.parse().unwrap(), &name, u64::from(std::process::id()))
    };
    let elector = plane.elector(election).unwrap();
    let (records, stopping) = (plane.objects::<ConfigMap>().unwrap().writer(), plane.stopping().clone());
    let work = move |term: Term| write(records.clone(), name.clone(), term);
    plane.spawn(async move { Ok(elector.lead(work, stopping).await.map(drop)?) });
    println!("stands");
    plane.shutdown_on_signal().await.unwrap();
    println!("stopped");
}

async fn write(records: Arc<dyn Writer<ConfigMap>>, name: String, term: Term) {
    let epoch = term.epoch();
    println!("leads {epoch} {}", term.fence().uid);
    let only_if = Preconditions { fence: Some(term.fence().clone()), ..Preconditions::default() };
    let (mut late, mut count) = (0, 0_u64);
    while late < LATE_ANSWERS {
        let is_late = term.token().is_cancelled();
        count += 1;
        let mut record = ConfigMap::default();
        record.metadata.name = Some(RECORD.into());
        record.metadata.namespace = Some("default".into());
        let data = [("by", name.clone()), ("epoch", epoch.to_string()), ("count", count.to_string())];
        record.data = Some(data.map(|(key, value)| (key.to_owned(), value)).into());
        let answer = match records.update(&record, &only_if).await {
            Ok(_) => "wrote",
            Err(WriteError::Conflict(Conflict::Fence(_))) => "refused",
            // The server may be down: retried until it answers.
            Err(_) => {
                sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        late += usize::from(is_late);
        println!("{answer} {epoch}");
        sleep(Duration::from_millis(20)).await;
    }
    println!("ends {epoch}");
}

/// A line of a candidate's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CandidateOutput {
    Stands,
    Leads { epoch: u64, uid: String },
    Wrote(u64),
    Refused(u64),
    Ends(u64),
    Stopped,
}

impl CandidateOutput {
    fn read(line: &str) -> Option<Self> {
        // The test harness prints the test's name without a line end.
        let line = line.rsplit_once("... ").map_or(line, |(_, line)| line);
        let mut words = line.split(' ');
        let verb = words.next()?;
        let mut number = || words.next()?.parse().ok();
        Some(match verb {
            "stands" => Self::Stands,
            "leads" => Self::Leads { epoch: number()?, uid: words.next()?.to_owned() },
            "wrote" => Self::Wrote(number()?),
            "refused" => Self::Refused(number()?),
            "ends" => Self::Ends(number()?),
            "stopped" => Self::Stopped,
            _ => return None,
        })
    }
}

/// A running candidate process.
pub(crate) struct Candidate {
    pub(crate) name: &'static str,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// The lines read until now.
    pub(crate) output: Vec<CandidateOutput>,
}

impl Candidate {
    pub(crate) fn start(name: &'static str, kubeconfig: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "candidate::candidate", "--nocapture"]);
        command.env(KUBECONFIG, kubeconfig).env(NAME, name).kill_on_drop(true);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { name, child, lines, output: Vec::new() }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id().expect("it runs")).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Reads the next line.
    pub(crate) async fn next(&mut self) -> CandidateOutput {
        loop {
            let line = self.lines.next_line().await.unwrap();
            let line = line.unwrap_or_else(|| panic!("{} exited after {:?}", self.name, self.output));
            if let Some(line) = CandidateOutput::read(&line) {
                self.output.push(line.clone());
                return line;
            }
        }
    }

    /// Reads lines until `accept` returns a value.
    pub(crate) async fn wait_for<T>(
        &mut self,
        description: &str,
        accept: impl Fn(CandidateOutput) -> Option<T>,
    ) -> T {
        let found = async {
            loop {
                if let Some(found) = accept(self.next().await) {
                    return found;
                }
            }
        };
        timeout(TIMEOUT, found).await.unwrap_or_else(|_| panic!("{description}"))
    }

    pub(crate) async fn leads(&mut self) -> (u64, String) {
        let accept =
            |line| if let CandidateOutput::Leads { epoch, uid } = line { Some((epoch, uid)) } else { None };
        self.wait_for("it leads", accept).await
    }

    /// Sends SIGKILL.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    pub(crate) async fn ended(&mut self) -> ExitStatus {
        timeout(TIMEOUT, self.child.wait()).await.expect("it ends").unwrap()
    }
}
