//! Renders thumbnails of photographs that are saved repeatedly: a work queue without Kubernetes.
//!
//! With default features the queue runs on tokio; without features it has a manual clock.

use std::error::Error;
use std::time::Duration;

use machinery_workqueue::{Config, Queue};

#[cfg(feature = "default-queue")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    use machinery_workqueue::{Next, Run};
    use tokio::sync::mpsc;

    let saved = Queue::new(Config::default())?;
    for photo in ["cat.jpg", "dog.jpg", "cat.jpg", "cat.jpg"] {
        saved.add(photo)?;
    }

    let (rendered, mut thumbnails) = mpsc::channel(16);
    let workers = saved.run(2, move |run: Run<&'static str>| {
        let rendered = rendered.clone();
        async move {
            if run.key == "dog.jpg" && run.attempts == 0 {
                return Err("dog.jpg was read while it was being written");
            }
            rendered.send((run.key, run.attempts)).await.map_err(|_| "nobody wants thumbnails any more")?;
            Ok(Next::Done)
        }
    });
    let shutdown = async {
        let both = [thumbnails.recv().await, thumbnails.recv().await];
        (both, saved.drain(Duration::from_secs(10)).await)
    };
    let (ran, (both, drained)) = tokio::join!(workers, shutdown);
    ran?;

    assert_eq!(
        both,
        [Some(("cat.jpg", 0)), Some(("dog.jpg", 1))],
        "three saves of a cat are one run; a failure is retried"
    );
    assert_eq!(thumbnails.recv().await, None, "and there was no other run");
    assert!(drained.leftovers.is_empty(), "a drained queue leaves nothing");
    println!("outside, default features: 2 thumbnails of 4 saves");
    Ok(())
}

#[cfg(not(feature = "default-queue"))]
fn main() -> Result<(), Box<dyn Error>> {
    use machinery_workqueue::Added;

    let (saved, clock) = Queue::manual(Config::default())?;
    assert_eq!(saved.add("cat.jpg")?, Added::Queued);
    assert_eq!(saved.add("cat.jpg")?, Added::Merged);
    saved.add_after("dog.jpg", Duration::from_secs(5))?;

    let mut rendered = Vec::new();
    while rendered.len() < 2 {
        match saved.try_get() {
            Some(work) => {
                rendered.push(*work.key());
                work.done();
            }
            None => clock.advance(Duration::from_secs(1)),
        }
    }

    assert_eq!(rendered, ["cat.jpg", "dog.jpg"], "what waits for later comes later");
    assert_eq!(clock.now(), Duration::from_secs(5), "and not before its time");
    assert!(saved.try_get().is_none(), "each was handed out once");
    println!("outside, no features: 2 thumbnails, and five seconds that took no time");
    Ok(())
}
