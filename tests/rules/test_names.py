"""Rules of names and docstrings that a tool can hold; `vocabulary` has the words."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.rules.vocabulary import CONVERTERS, FRAGMENTS, PREDICATES, VERBS

ROOT = Path(__file__).parents[2]
PACKAGES = (
    *("wsi", "adapters", "lambdas", "inference", "gpu_worker", "cdk", "local", "tessera"),
    *("tools", "benchmarks", "models"),
)
#: Names that others choose: http.server, OpenTelemetry, `import tessera`, and commands, which are named as they are
#: typed.
NAMED_BY_OTHERS = {
    *("main", "do_GET", "results", "thumbnail", "heatmap", "default", "cost", "trace", "usage"),
    *("export", "shutdown"),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """The parsed modules of the product by their paths."""
    tracked = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in tracked.stdout.splitlines() if name.endswith(".py") and (ROOT / name).exists()]
    return {name: ast.parse((ROOT / name).read_text()) for name in names}


def is_property(function: Function) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def functions_of(body: ast.Module | ast.ClassDef) -> Iterator[tuple[str, Function]]:
    """Yield functions and methods that are no properties, and the names of their classes; none within functions."""
    for node in body.body:
        if isinstance(node, ast.ClassDef):
            for owner, function in functions_of(node):
                yield f"{node.name}.{owner}", function
        elif isinstance(node, FUNCTIONS) and not is_property(node):
            yield "", node


def not_named_by_a_verb(module: ast.Module) -> list[str]:
    """Return the public functions that a route, a command or a protocol does not name, and whose names begin with
    another word than a verb, a predicate or a converter."""
    found: list[str] = []
    for owner, function in functions_of(module):
        name = owner + function.name
        if re.search(r"(^|\.)_", name) or function.name in NAMED_BY_OTHERS:
            continue
        if any(re.match(r"(app|router)\.", ast.unparse(decorator)) for decorator in function.decorator_list):
            continue
        if function.name.split("_")[0] not in VERBS | PREDICATES | CONVERTERS:
            found.append(name)
    return found


def first_word(docstring: str) -> str:
    return re.split(r"[ ,.:;\n]", docstring, maxsplit=1)[0].strip("`").lower()


def wrong_docstrings(module: ast.Module) -> list[str]:
    """Return the docstrings of functions that do not begin with a verb, and the others that begin without a subject."""
    found: list[str] = []
    for node in ast.walk(module):
        if not isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) or not (text := ast.get_docstring(node)):
            continue
        is_function = isinstance(node, FUNCTIONS) and not is_property(node)
        if first_word(text) not in VERBS if is_function else first_word(text) in FRAGMENTS:
            found.append(text.splitlines()[0])
    return found


def names_of_two_classes(parsed: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Return the names that more than one class has, and where these are."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, module in parsed.items():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    return {name: where for name, where in places.items() if len(where) > 1}


@pytest.mark.parametrize("text", ["def held(): ...", "class Store:\n  def slide(self): ...", "async def rows(): ..."])
def test_the_rule_finds_functions_that_are_not_named_by_verbs(text: str) -> None:
    assert not_named_by_a_verb(ast.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        '"""What a worker writes."""',
        'class Lease:\n  """Of one shard."""',
        'def find_slide():\n  """The slide, or None."""',
        'class Lease:\n  @property\n  def ended(self):\n    """Whether it ended."""',
    ],
)
def test_the_rule_finds_docstrings_without_a_subject(text: str) -> None:
    assert wrong_docstrings(ast.parse(text))


def test_the_rule_finds_a_name_that_two_classes_have() -> None:
    assert names_of_two_classes({"a.py": ast.parse("class Job: ..."), "b.py": ast.parse("class Job: ...")})


def test_functions_are_named_by_verbs(modules: Mapping[str, ast.Module]) -> None:
    assert {path: found for path, module in modules.items() if (found := not_named_by_a_verb(module))} == {}


def test_docstrings_say_what_is_returned_or_done(modules: Mapping[str, ast.Module]) -> None:
    assert {path: found for path, module in modules.items() if (found := wrong_docstrings(module))} == {}


def test_a_name_means_one_class(modules: Mapping[str, ast.Module]) -> None:
    assert names_of_two_classes(modules) == {}
