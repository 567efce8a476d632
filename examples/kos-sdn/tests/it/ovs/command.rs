//! Programs of the system.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// Runs a program to its end, and returns its standard output.
#[track_caller]
pub(crate) fn run(arguments: &[&str]) -> String {
    match try_run(arguments) {
        Ok(text) => text,
        Err(text) => panic!("{arguments:?}: {text}"),
    }
}

/// Runs a program to its end; an error has all of its output.
pub(crate) fn try_run(arguments: &[&str]) -> Result<String, String> {
    let ended = Command::new(arguments[0]).args(&arguments[1..]).stdin(Stdio::null()).output();
    result(ended.unwrap())
}

/// Runs a program with standard input.
#[track_caller]
pub(crate) fn run_with(arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(arguments[0]);
    child.args(&arguments[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    match result(child.wait_with_output().unwrap()) {
        Ok(text) => text,
        Err(text) => panic!("{arguments:?}: {text}"),
    }
}

fn result(output: Output) -> Result<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!("{}{}", text(&output.stdout), text(&output.stderr))),
    }
}
