//! Watches whose keys are edited.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use machinery_objects::{
    EditNumber, Interest, InterestEdit, InterestRequest, InterestSource, InterestWatch, Object, WatchError,
    WatchEvent,
};

use super::plane::Plane;
use super::selection::Selection;

#[async_trait]
impl<T: Object + Clone> InterestSource<T> for Plane<T> {
    async fn open(&self, request: InterestRequest) -> Result<InterestWatch<T>, WatchError> {
        let fault = self.on_watch().await?;
        let InterestRequest { by, keys, filter, after } = request;
        let selection = Selection { filter, keys: Some((by, keys)) };
        let mut stream = self.begin(selection, after.as_ref(), true, fault.as_ref())?;
        let version = stream.version();
        stream.due.push_back(WatchEvent::Complete { edit: EditNumber::FIRST, version });
        let watch = stream.id;
        self.0.inside.lock().edits.insert(watch, (EditNumber::FIRST, VecDeque::new()));
        Ok(InterestWatch {
            events: Box::pin(stream),
            interest: Arc::new(Edits { plane: self.clone(), watch }),
        })
    }
}

struct Edits<T> {
    plane: Plane<T>,
    watch: u64,
}

#[async_trait]
impl<T: Object + Clone> Interest for Edits<T> {
    async fn edit(&self, edit: InterestEdit) -> Result<EditNumber, WatchError> {
        let number = {
            let mut inside = self.plane.0.inside.lock();
            inside.asked.edits += 1;
            let (last, edits) = inside.edits.get_mut(&self.watch).ok_or(WatchError::Ended)?;
            last.0 += 1;
            edits.push_back((*last, edit));
            *last
        };
        self.plane.wake(self.watch);
        Ok(number)
    }
}
