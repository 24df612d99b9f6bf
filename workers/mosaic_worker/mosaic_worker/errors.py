"""What can end a worker other than its library."""


class UserError(Exception):
    """The spec asks for something that this worker cannot do; the message says what and what to do."""


class Stopped(BaseException):
    """The supervisor asked the worker to stop. Raised at a safe point of the training loop.

    A BaseException, so that a library's ``except Exception`` cannot swallow it.
    """


class EventsLost(BaseException):
    """An event could not be written. The run cannot go on: what happens would not be on record."""
