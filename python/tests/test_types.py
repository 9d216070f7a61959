"""The stubs: mypy accepts them, and they name what the compiled module has."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import dedupstore
from dedupstore import _engine

_ROOT = Path(__file__).parent.parent


def test_mypy_accepts_package_and_tests() -> None:
    command = [sys.executable, "-m", "mypy", "--no-error-summary"]
    checked = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def _names_in_stub() -> dict[str, set[str]]:
    tree = ast.parse((_ROOT / "dedupstore" / "_engine.pyi").read_text())
    names: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            functions = {it.name for it in node.body if isinstance(it, ast.FunctionDef)}
            fields = {
                it.target.id
                for it in node.body
                if isinstance(it, ast.AnnAssign) and isinstance(it.target, ast.Name)
            }
            names[node.name] = functions | fields
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = set()
    return names


def test_the_stub_names_what_the_module_has() -> None:
    stub = _names_in_stub()
    public = {name for name in vars(_engine) if not name.startswith("_")}
    assert set(stub) == public
    special = {"__new__", "__contains__", "__enter__", "__exit__", "__hash__"}
    for name, members in stub.items():
        item = getattr(_engine, name)
        if inspect.isclass(item):
            found = {it for it in vars(item) if not it.startswith("_")}
            assert members - special == found, name


def test_parameters_of_the_stub_are_those_of_the_module() -> None:
    tree = ast.parse((_ROOT / "dedupstore" / "_engine.pyi").read_text())
    for node in tree.body:
        functions = [node] if isinstance(node, ast.FunctionDef) else getattr(node, "body", [])
        owner = getattr(_engine, node.name) if isinstance(node, ast.ClassDef) else _engine
        where = node.name if isinstance(node, ast.ClassDef) else "_engine"
        for function in functions:
            if not isinstance(function, ast.FunctionDef) or function.name.startswith("__"):
                continue
            item = inspect.getattr_static(owner, function.name)
            if inspect.isdatadescriptor(item):
                continue
            stated = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
            names = [it.arg for it in stated if it.arg not in ("self", "cls")]
            real = inspect.signature(getattr(owner, function.name))
            found = [it for it in real.parameters if it not in ("self", "cls")]
            assert names == found, f"{where}.{function.name}"


def test_every_public_item_has_a_docstring_whose_examples_run() -> None:
    finder = doctest.DocTestFinder()
    runner = doctest.DocTestRunner()
    examples = 0
    for name in dedupstore.__all__:
        item = getattr(dedupstore, name)
        if name == "__version__":
            continue
        assert item.__doc__, name
        for test in finder.find(item, name, globs={}):
            examples += len(test.examples)
            runner.run(test)
    for test in finder.find(dedupstore, "dedupstore", module=False, globs={}):
        if test.name == "dedupstore":
            examples += len(test.examples)
            runner.run(test)
    assert examples > 20
    assert runner.summarize(verbose=False).failed == 0
