"""Loaded after an example of kopf: whether a daemon has ended is asked each second. A thread that ends late is else seen after a minute."""

import kopf


@kopf.on.startup()
def polled(settings, **_):
    settings.background.cancellation_polling = 1
