"""Tries an installed package, on any version of Python and without other packages."""

import pathlib
import tempfile

import dedupstore

with tempfile.TemporaryDirectory() as directory:
    path = pathlib.Path(directory) / "links.dds"
    with dedupstore.Store(path, memory="64KiB") as store:
        verdicts = store.observe_many(["a", b"b", "a"])
        assert [verdict.is_new for verdict in verdicts] == [True, True, False]
    with dedupstore.Store(path) as store:
        assert store.observe("a") is dedupstore.Verdict.SEEN
        assert "b" in store
        assert bytes(store.observe_fingerprints(memoryview(bytes(16)))) == b"\1\0"
    try:
        dedupstore.Store.open(pathlib.Path(directory) / "absent.dds")
    except dedupstore.NotFoundError as error:
        assert "dedupstore create" in str(error)
    else:
        raise AssertionError("opened what does not exist")
