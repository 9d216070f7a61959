"""The memory of a long crawl: has this key occurred before?

A filter answers in a fixed amount of memory and is sometimes wrong: it can report a new key as
seen (a false positive) and, with some filters, a repeated key as new (a false negative).

>>> from dedupstore import SeenSet
>>> seen = SeenSet(memory="1MiB")
>>> links = ["https://harbour.example/", "https://harbour.example/quay", "https://harbour.example/"]
>>> [link for link, verdict in zip(links, seen.observe_many(links)) if verdict.is_new]
['https://harbour.example/', 'https://harbour.example/quay']

`SeenSet` is in memory, `Store` survives crashes, `SharedStore` is for many threads,
`ReadOnlyStore` for readers beside a writer, and `Store.connect` for many processes, through
`dedupstore serve`, Redis or Valkey. `dedupstore.scrapy` and `dedupstore.ray` need these
packages.
"""

from ._cluster import ClusterStore
from ._engine import (
    Claim,
    KeyHasher,
    ReadOnlyStore,
    SeenSet,
    SharedStore,
    Store,
    Verdict,
    __version__,
    advise,
    inspect,
    normalize,
    simulate,
)
from ._errors import (
    AlreadyExistsError,
    ClosedError,
    ConnectionFailedError,
    CorruptError,
    Error,
    ForkedError,
    InUseError,
    InvalidArgumentError,
    NewerVersionError,
    NotAStoreError,
    NotFoundError,
    OptionMismatchError,
    PoisonedError,
    ServerError,
    StoreFailedError,
)
from ._remote import RemoteClaim, RemoteStore

__all__ = [
    "AlreadyExistsError",
    "Claim",
    "ClosedError",
    "ClusterStore",
    "ConnectionFailedError",
    "CorruptError",
    "Error",
    "ForkedError",
    "InUseError",
    "InvalidArgumentError",
    "KeyHasher",
    "NewerVersionError",
    "NotAStoreError",
    "NotFoundError",
    "OptionMismatchError",
    "PoisonedError",
    "ReadOnlyStore",
    "RemoteClaim",
    "RemoteStore",
    "SeenSet",
    "ServerError",
    "SharedStore",
    "Store",
    "StoreFailedError",
    "Verdict",
    "__version__",
    "advise",
    "inspect",
    "normalize",
    "simulate",
]
