//! Two workers keep thumbnails of repeatedly saved photographs up to date.
//!
//! `cargo run --example thumbnails -p machinery-workqueue`

use machinery_workqueue::{Add, Cause, Config, Next, Priority, Queue, Run};
use std::time::Duration;

/// Runs the example.
#[tokio::main]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let queue = Queue::new(Config::default())?;
    let workers = queue.run(2, render);

    let saves = async {
        for number in 0..30 {
            let photo = ["cat.jpg", "dog.jpg", "cow.jpg"][number % 3];
            queue.add_with(photo, Add::new().cause(Cause::new(&"saved", number as u64)))?;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let somebody_waits = Add::new().priority(Priority::HIGH).cause(Cause::new(&"requested", 1));
        queue.add_with("gnu.jpg", somebody_waits)?;

        let drained = queue.drain(Duration::from_secs(5)).await;
        let stats = queue.stats();
        println!("\n31 adds, {} runs, {} of them again after a failure", stats.handed_out, stats.retries);
        println!("left over: {}", drained.leftovers.len());
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    let (ended, saved) = tokio::join!(workers, saves);
    saved?;
    Ok(ended?)
}

async fn render(run: Run<&'static str>) -> Result<Next, &'static str> {
    println!("{}  {:?}", run.key, run.causes);
    tokio::time::sleep(Duration::from_millis(40)).await;
    if run.key == "gnu.jpg" && run.attempts == 0 {
        return Err("the file was half written");
    }
    Ok(Next::Done)
}
