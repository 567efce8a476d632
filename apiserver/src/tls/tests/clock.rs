//! Certificates that are issued while the clock is wrong.

use super::*;

/// Connects with these certificates, by the real clock.
fn connects(path: &Path, of: &Certificates) -> Result<String, String> {
    let (serving, _) = Serving::open(Source::Own(own(path)), later(0)).expect("opened");
    let client = client(&of.ca, Some(&of.admin), &TLS13);
    connect(&serving, &client, "localhost").map(|identity| identity.expect("known").user)
}

/// Story: a server started while its clock was a year ahead. Its clients were locked out when the
/// clock was right again, also after a restart.
#[test]
fn certificates_of_a_clock_that_is_a_year_ahead_are_valid_today() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let before = opened(path);
    let ahead = own(path).open(later(365)).expect("opened");
    assert_eq!(ahead.notes.len(), 2, "{:?}", ahead.notes);
    let today = opened(path);
    assert_eq!(today.notes, [""; 0]);
    assert_eq!(connects(path, &today).as_deref(), Ok("admin"));
    assert_eq!(connects(path, &before).as_deref(), Ok("admin"), "the first kubeconfig is good still");
}

#[test]
fn certificates_that_are_not_valid_yet_are_issued_again_and_last_as_long() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let far = own(path).open(later(20 * 365)).expect("opened");
    let today = opened(path);
    assert_eq!(today.notes.len(), 3, "{:?}", today.notes);
    assert!(today.notes.iter().all(|note| note.contains(": the last one begins on ")), "{:?}", today.notes);
    assert_eq!(connects(path, &today).as_deref(), Ok("admin"));
    let end = |pair: &Pair| {
        let der = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).expect("PEM");
        let parsed = crate::tls::pem::parsed(&der).expect("a certificate");
        parsed.validity().not_after.timestamp()
    };
    assert_eq!(end(&today.server), end(&far.server), "whichever clock was wrong");
    assert_eq!(own(path).open(later(20 * 365)).expect("opened").notes, [""; 0]);
}

/// A computer without a clock of its own starts in 1970.
#[test]
fn certificates_of_1970_are_issued_and_replaced() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let begin = |second| own(path).open(Timestamp::from_second(second).expect("a time")).expect("opened");
    assert_eq!(begin(0).notes.len(), 3);
    assert_eq!(begin(60).notes, [""; 0], "they begin with 1970, since verifiers know no earlier time");
    assert_eq!(opened(path).notes.len(), 3, "they have expired");
    let today = opened(path);
    assert_eq!(connects(path, &today).as_deref(), Ok("admin"));
    // The other way round: the clock is lost, and found again.
    assert_eq!(begin(100).notes.len(), 3);
    assert_eq!(opened(path).notes, [""; 0], "they last as long as the former ones");
    assert_eq!(connects(path, &today).as_deref(), Ok("admin"));
    own(path).open(Timestamp::from_second(-3600).expect("a time")).expect("no panic");
}

/// Story: a data directory was moved away while the server ran. The server made another authority,
/// which its clients did not know.
#[test]
fn a_running_server_makes_no_other_authority() {
    let directory = tempfile::tempdir().expect("a directory");
    let (path, moved) = (directory.path().join("pki"), directory.path().join("moved"));
    let before = opened(&path);
    let (serving, _) = Serving::open(Source::Own(own(&path)), later(0)).expect("opened");
    fs::rename(&path, &moved).expect("moved");
    let error = serving.reload(later(0)).expect_err("they are gone").to_string();
    assert!(error.contains("ca.key: it is gone; put it back"), "{error}");
    assert!(!path.exists(), "nothing is made");
    let client = client(&before.ca, Some(&before.admin), &TLS13);
    connect(&serving, &client, "localhost").expect("the last ones are in use").expect("known");
    fs::rename(&moved, &path).expect("moved back");
    assert_eq!(serving.reload(later(0)).expect("there again"), [""; 0]);
}
