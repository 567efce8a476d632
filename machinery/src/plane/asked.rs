//! Objects as they are now, which no informer can know.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use machinery_objects::{Filter, ListError, ListRequest, ListWatch, Page};

/// Asks for a page.
pub(super) type Ask<K> =
    dyn Fn(ListRequest) -> BoxFuture<'static, Result<Page<Arc<K>>, ListError>> + Send + Sync;

pub(super) fn ask<K, S>(source: Arc<dyn ListWatch<S>>) -> Arc<Ask<K>>
where
    K: Send + Sync + 'static,
    S: Into<Arc<K>> + Send + 'static,
{
    Arc::new(move |request| {
        let source = source.clone();
        async move {
            let Page { items, unreadable, version, rest, remaining } = source.list(request).await?;
            let items = items.into_iter().map(Into::into).collect();
            Ok(Page { items, unreadable, version, rest, remaining })
        }
        .boxed()
    })
}

/// All pages of one moment.
pub(super) async fn all<K>(ask: &Ask<K>, filter: &Filter) -> Result<Vec<Arc<K>>, ListError> {
    let (mut all, mut rest) = (Vec::new(), None);
    loop {
        let request = ListRequest { filter: filter.clone(), rest, ..ListRequest::default() };
        let page = ask(request).await?;
        all.extend(page.items);
        match page.rest {
            None => return Ok(all),
            more => rest = more,
        }
    }
}
