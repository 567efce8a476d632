//! The read budget limits bursts, and no data is lost.

use super::*;
use crate::listen::read_budget::{BudgetedStream, ReadBudget};
use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[derive(Default)]
struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The sizes of reads from a stream of `bytes`, one per budget; `has_request` marks those that
/// complete a request.
fn reads_of(bytes: &[u8], has_request: impl Fn(usize) -> bool) -> Vec<usize> {
    let budget = ReadBudget::new();
    let mut stream = BudgetedStream::new(bytes, budget.clone());
    let (mut all, mut taken) = (Vec::new(), Vec::new());
    let mut work = std::pin::pin!(poll_fn(|cx| {
        let before = all.len();
        loop {
            let mut room = vec![0; 300];
            let mut buffer = ReadBuf::new(&mut room);
            let polled = Pin::new(&mut stream).poll_read(cx, &mut buffer);
            all.extend_from_slice(buffer.filled());
            if polled.is_pending() || buffer.filled().is_empty() {
                if has_request(taken.len()) {
                    budget.request();
                }
                taken.push(all.len() - before);
                return polled.map(drop);
            }
        }
    }));
    let woken = Arc::new(WakeFlag::default());
    let waker = Waker::from(woken.clone());
    let mut poll_within = Box::pin(budget.poll_within(work.as_mut()));
    while poll_within.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        assert!(woken.0.swap(false, Ordering::Relaxed), "it would never be read on");
    }
    drop(poll_within);
    assert_eq!(all, bytes);
    taken
}

#[test]
fn the_read_budget_grows_until_a_request_is_complete() {
    let bytes: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
    assert_eq!(reads_of(&bytes[..4_000], |_| true), [1_024, 1_024, 1_024, 928]);
    let kib: Vec<usize> = reads_of(&bytes, |_| false).iter().map(|bytes| bytes >> 10).collect();
    assert_eq!(kib, [1, 2, 4, 8, 16, 32, 64, 64, 4]);
    let kib: Vec<usize> =
        reads_of(&bytes[..16_000], |turn| turn == 2).iter().map(|bytes| bytes >> 10).collect();
    assert_eq!(kib, [1, 2, 4, 1, 2, 4, 1]);
}

/// Records the bytes read between two requests.
struct ReadCounter {
    stream: DuplexStream,
    pace: Arc<Pace>,
    open: usize,
    since: usize,
    most: Arc<AtomicUsize>,
}

impl AsyncRead for ReadCounter {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let open = self.pace.watches();
        if open != self.open {
            (self.open, self.since) = (open, 0);
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.since += buffer.filled().len() - before;
        self.most.fetch_max(self.since, Ordering::Relaxed);
        polled
    }
}

impl AsyncWrite for ReadCounter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_requests_of_a_burst_are_answered_before_the_last_are_read() {
    let server = server().await;
    let (tasks, mut clients) = (TaskTracker::new(), JoinSet::new());
    let (client, stream) = duplex(64 << 10);
    let (pace, most) = (Pace::new(ConnectionClient::default()), Arc::new(AtomicUsize::new(0)));
    let stream = ReadCounter { stream, pace: pace.clone(), open: 0, since: 0, most: most.clone() };
    let shared = server.shared().clone();
    let service = Service::new(shared.clone(), Some(Arc::new(Identity::admin())));
    let version = Some(Version::HTTP_2);
    let http = HttpConnection { pace: pace.clone(), service, protocol: version, origins: None };
    tasks.spawn(requests(StreamExecutor { shared, tasks: tasks.clone() }, stream, http));
    let mut sender = http2(client, &mut clients).await;
    let answers = (0..100).map(|number| {
        let path = format!("/api/v1/namespaces/default/configmaps?watch=1&labelSelector=a%3D{number:040}");
        sender.send_request(get(&path))
    });
    let answers = futures::future::join_all(answers.collect::<Vec<_>>()).await;
    assert!(answers.into_iter().all(|answer| answer.expect("an answer").status() == 200));
    let most = most.load(Ordering::Relaxed);
    assert!(most <= 2 << 10, "{most} bytes were read before a watch was begun");
}
