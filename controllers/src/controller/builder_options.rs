//! The options of a controller, and its construction.

use std::sync::Arc;

use machinery_informers::Informer;
use machinery_objects::Object;
use machinery_workqueue::{Config, ConfigError, Priority, Queue, entropy};
use serde::Serialize;

use super::builder::Builder;
use super::handle::{Controller, ControllerSpec};
use super::settings::Settings;
use crate::{Request, WriteFight};

/// Limit of [`Settings::workers`].
const MAX_WORKERS: usize = 65_536;

impl<K: Request, S: Send + Sync + 'static> Builder<K, S> {
    /// Detects write fights over the objects of an informer that is a source of the controller:
    /// another writer and this controller undo each other's change of a field. A fight is reported
    /// with its field and manager, and slowed.
    pub fn detecting_fights<T: Object + Serialize>(mut self, objects: &Informer<T>) -> Self {
        self.documents.add::<T>(objects.id());
        self
    }

    /// Sets a function that is called when a write fight begins. It must not block.
    pub fn on_write_fight(mut self, report: impl Fn(&WriteFight) + Send + Sync + 'static) -> Self {
        self.on_write_fight = Some(Arc::new(report));
        self
    }

    /// Sets the priority of each key, instead of [`Priority::NORMAL`]. In the initial list it is
    /// lowered by that of [`Priority::LOW`]. It is called for each event of a key and should be
    /// quick, for instance a read of an informer. A panic counts as normal priority.
    pub fn prioritizing(mut self, priority: impl Fn(&K) -> Priority + Send + Sync + 'static) -> Self {
        self.priority = Some(Arc::new(priority));
        self
    }

    /// Sets the limits and timeouts of the controller.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the configuration of the work queue, which is created at each start: back-off,
    /// priorities, tenants, debouncing.
    pub fn queue(mut self, config: impl Fn() -> Config<K> + Send + Sync + 'static) -> Self {
        self.queue = Box::new(config);
        self
    }

    /// Builds the controller. It is inactive until [`run`](Controller::run).
    ///
    /// # Errors
    /// A setting is invalid.
    pub fn build(self) -> Result<Controller<K, S>, ConfigError> {
        let Self { name, sources, subject, parse_key, settings, queue, documents, on_write_fight, priority } =
            self;
        let documents = Arc::new(documents);
        match settings.workers {
            0 => return Err(ConfigError::NoWorkers),
            more if more > MAX_WORKERS => return Err(ConfigError::TooManyWorkers(more)),
            _ => {}
        }
        let config = queue();
        // One seed for queue and span IDs, so that a seeded run repeats both.
        let seed = config.seed.unwrap_or_else(entropy);
        // Only a check: each start of the controller builds a queue of its own.
        drop(Queue::manual(config)?);
        Ok(Controller::new(ControllerSpec {
            name,
            sources,
            subject,
            parse_key,
            settings,
            queue,
            seed,
            documents,
            on_write_fight,
            priority,
        }))
    }
}
