"""The exceptions of dedupstore. Their messages say what happened and what to do next."""


class Error(Exception):
    """The base class of all exceptions of dedupstore."""


class InvalidArgumentError(Error, ValueError):
    """An argument cannot be used, such as a filter that does not exist."""


class NotFoundError(Error):
    """There is no store at the path."""


class AlreadyExistsError(Error):
    """The path of a new store exists."""


class NotAStoreError(Error):
    """The path holds something else, which was not changed."""


class InUseError(Error):
    """Another process, or another object of this one, writes to the store."""


class OptionMismatchError(Error):
    """The store was created with another value of an option."""


class NewerVersionError(Error):
    """The store needs a newer version of dedupstore."""


class CorruptError(Error):
    """A file of the store is damaged or missing. `dedupstore repair` may help."""


class PoisonedError(Error):
    """An earlier call has failed. Opening the store again recovers what was recorded."""


class ClosedError(Error):
    """The object was closed."""


class ForkedError(Error):
    """A forked process used a store of its parent."""


class StoreFailedError(Error):
    """The operating system refused something, for example because the disk is full."""


class ConnectionFailedError(Error, ConnectionError):
    """There is no connection to the server, or it broke. What was sent and not answered may or may
    not be recorded."""


class ServerError(Error):
    """The server refused a request."""
