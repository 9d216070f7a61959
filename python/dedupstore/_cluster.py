"""A store in slices on Redis Cluster, Valkey or one Redis."""

from __future__ import annotations

import json
import secrets
from array import array
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ._engine import Cluster, KeyHasher, Verdict
from ._errors import InvalidArgumentError
from ._remote import RemoteClaim

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ._engine import Key

# As long as a claim on a server of `dedupstore serve`.
_CLAIM_SECONDS = 600.0


class ClusterStore:
    """A store on Redis Cluster, Valkey or one Redis, with the methods of `Store`.

    `Store.connect` makes it if the server is a Redis; here, options of a new store can be given:
    `memory`, `filter` (`"slot:values=65535"` or `"bloom:k=4"`), `window` in seconds, `slices` (16),
    `rule` for keys whose slices do not answer (`"unknown"`), and `normalization`. With `replicas` or
    `on_disk`, what is recorded is confirmed by so many replicas, or on disk, before a call returns.
    An existing store keeps its own options. Threads can share it; a forked process gets a
    `ForkedError`.

    User and password come from the address, or from `DEDUPSTORE_USERNAME`, `DEDUPSTORE_PASSWORD` and
    `DEDUPSTORE_PASSWORD_FILE`. A key whose slices do not answer counts as new, and in `unknown`.

    Claims are keys in Redis. They end after ten minutes unless `renew_claims` is called, also if
    their process has ended, except for a store with the same `owner`.
    """

    def __init__(
        self,
        url: str,
        *,
        create: bool = True,
        timeout: float | None = None,
        memory: int | str | None = None,
        filter: str | None = None,
        window: int | None = None,
        slices: int | str | None = None,
        rule: str | None = None,
        normalization: str | None = None,
        replicas: int | None = None,
        on_disk: bool = False,
    ) -> None:
        self._cluster = Cluster(
            url,
            create=create,
            timeout=timeout,
            memory=memory,
            filter=filter,
            window=window,
            slices=None if slices is None else str(slices),
            rule=rule,
            replicas=replicas,
            on_disk=on_disk,
            normalization=normalization,
        )
        self._hasher = KeyHasher(self._cluster.seed, rule=self._cluster.key)
        self._unknown = 0
        self.set_owner(secrets.randbits(64))

    # Observations.

    def observe(self, key: Key, *, at: int | None = None, importance: int = 0) -> Verdict:
        """Reports whether a key is new, and records it. A key is bytes, or str as UTF-8. The time of
        a window is that of the servers, so `at` must not be given; `importance` has no meaning."""
        if at is not None:
            raise InvalidArgumentError(
                "a store on Redis takes the time from its servers; leave `at` out"
            )
        [verdict] = self.observe_many([key])
        return verdict

    def observe_many(self, keys: Iterable[Key]) -> list[Verdict]:
        """Observes many keys in order; returns their verdicts. Much faster than one by one."""
        return _verdicts(self.observe_fingerprints(self._hasher.fingerprints(keys)))

    def observe_fingerprints(self, fingerprints: Buffer) -> bytes:
        """Observes many fingerprints of this store's hasher, from a buffer of unsigned 64-bit
        numbers. Returns one byte per fingerprint: 1 for new, 0 for seen."""
        return self._known(self._cluster.observe(fingerprints))

    def contains(self, key: Key) -> Verdict:
        """Reports whether a key was observed before. Records nothing."""
        return Verdict.SEEN if key in self else Verdict.NEW

    def contains_many(self, keys: Iterable[Key]) -> list[Verdict]:
        """Looks many keys up. Records nothing."""
        return _verdicts(self.contains_fingerprints(self._hasher.fingerprints(keys)))

    def contains_fingerprints(self, fingerprints: Buffer) -> bytes:
        """Looks many fingerprints up; see `observe_fingerprints`. Records nothing."""
        return self._known(self._cluster.contains(fingerprints))

    def __contains__(self, key: Key) -> bool:
        [verdict] = self.contains_many([key])
        return verdict.is_seen

    def _known(self, answers: bytes) -> bytes:
        """Counts keys that no slice has answered about, which are taken for new."""
        unknown = answers.count(2)
        self._unknown += unknown
        return answers.replace(b"\2", b"\1") if unknown else answers

    def fingerprint(self, key: Key) -> int:
        """Returns the fingerprint of a key."""
        return self._hasher.fingerprint(key)

    def forget(self, key: Key) -> bool:
        """Fails: the filters of a store on Redis cannot remove a key."""
        raise InvalidArgumentError(f"{self.filter} cannot remove {key!r}; no store on Redis can")

    # Claims.

    def claim(self, key: Key) -> RemoteClaim:
        """Claims a key to work on. Nothing is recorded before `commit`."""
        return self.claim_fingerprint(self._hasher.fingerprint(key))

    def claim_fingerprint(self, fingerprint: int) -> RemoteClaim:
        """Claims a key by its fingerprint."""
        return RemoteClaim(fingerprint, self._cluster.claim(fingerprint))

    def commit(self, claim: RemoteClaim | int) -> None:
        """Records a claimed key: the work on it is done. Takes the claim, or the fingerprint of a
        claimed key."""
        if self._cluster.commit(_one(claim)) == 0:
            raise _not_claimed()

    def commit_fingerprints(self, fingerprints: Buffer) -> int:
        """Records many claimed keys, from a buffer of fingerprints; returns their number. Those that
        are not claimed are left out."""
        return self._cluster.commit(fingerprints)

    def abort(self, claim: RemoteClaim | int) -> None:
        """Ends a claim without recording the key, which can then be claimed again. Takes the claim,
        or the fingerprint of a claimed key."""
        if self._cluster.abort(_one(claim)) == 0:
            raise _not_claimed()

    def renew_claims(self) -> None:
        """Lets the claims of this object last for ten minutes from now."""
        self._cluster.renew()

    def set_owner(self, owner: int) -> None:
        """Names the owner of claims, a 64-bit number: a process that was started again, with the
        same owner, gets its claims again at once."""
        self._cluster.set_claims(_CLAIM_SECONDS, owner)

    # Durability.

    def flush(self) -> None:
        """Does nothing: what was answered is in the memory of the servers."""

    def sync(self) -> None:
        """Does nothing: with `replicas` or `on_disk`, each call waits for that itself, and without,
        the settings of the servers decide."""

    @property
    def sequence(self) -> int:
        """How many observations the clients of the store have reported; each reports after 100,000
        of them, and at its end."""
        return self._cluster.observations()

    @property
    def durable_sequence(self) -> int:
        """The same as `sequence`; see `sync`."""
        return self.sequence

    def wait_durable(self, sequence: int | None = None) -> None:
        """Does nothing; see `sync`."""

    def checkpoint(self) -> None:
        """Does nothing: the servers write their own snapshots."""

    # About the store.

    def inspect(self) -> dict[str, Any]:
        """Returns what `dedupstore inspect --json` prints about the address."""
        found = json.loads(self._cluster.inspect())
        assert isinstance(found, dict)
        return found

    @property
    def unknown(self) -> int:
        """How many keys no slice has answered about; they were taken for new."""
        return self._unknown

    @property
    def url(self) -> str:
        """The address, without its password."""
        return self._cluster.url

    @property
    def filter(self) -> str:
        """The filter and its parameters."""
        return self._cluster.filter

    @property
    def seed(self) -> int:
        """The seed of the hash function."""
        return self._cluster.seed

    def __repr__(self) -> str:
        return f"<ClusterStore {self.url} {self.filter}>"

    def close(self) -> None:
        """Ends the connections, and the claims of this object. Every later call fails, except for
        this one."""
        self._cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _class: type[BaseException] | None,
        _exception: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()


def _verdicts(answers: bytes) -> list[Verdict]:
    return [Verdict.NEW if is_new else Verdict.SEEN for is_new in answers]


def _one(claim: RemoteClaim | int) -> array[int]:
    return array("Q", [claim if isinstance(claim, int) else claim.fingerprint])


def _not_claimed() -> InvalidArgumentError:
    return InvalidArgumentError("the key is not claimed: it was committed or aborted")
