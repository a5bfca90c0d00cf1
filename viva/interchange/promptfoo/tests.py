"""The tests of a configuration, with what they inherit from scenarios and `defaultTest`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from viva.errors import SetupError
from viva.interchange.ledger import Gap
from viva.interchange.promptfoo.references import FileReferences, file_name, is_code
from viva.interchange.source import Source

MOST_TESTS = 20_000
"""Maximum number of cases of one configuration: scenarios, lists of values and prompts multiply them."""
OVERRIDDEN = "a default that tests override"
TABLES = (".csv", ".tsv")
TABLE = "__"
"""How the columns of a CSV file begin that are not variables."""


@dataclass(slots=True)
class PromptfooTest:
    """One test, with everything that it inherits."""

    where: Source
    descriptions: list[Source] = field(default_factory=list)
    variables: dict[str, Source] = field(default_factory=dict)
    assertions: list[Source] = field(default_factory=list)
    columns: list[tuple[str, Source]] = field(default_factory=list)
    """The columns of a CSV file that are not variables, by name."""
    metadata: dict[str, Source] = field(default_factory=dict)
    options: dict[str, Source] = field(default_factory=dict)
    threshold: Source | None = None
    provider: Source | None = None
    prompts: Source | None = None
    rest: list[tuple[str, Source]] = field(default_factory=list)
    """Keys that have no meaning for a case, or are unknown."""


class TestReader:
    """Reads the tests of a configuration."""

    __test__ = False  # it is no test of pytest's

    def __init__(self, config: Source, references: FileReferences) -> None:
        self._config = config
        self._references = references
        given = config.get("defaultTest")
        self._default = None if given is None else references.resolved(given)

    def tests(self) -> Iterator[PromptfooTest]:
        """Yield every test; without any, the one that consists of the defaults.

        Raises:
            SetupError: there are too many.
        """
        for count, layers in enumerate(self._layers(), 1):
            if count > MOST_TESTS:
                raise SetupError(f"the configuration has more than {MOST_TESTS:,} tests; split it.")
            test = PromptfooTest(layers[-1] if layers else self._config)
            given = test.where.get("options", "disableDefaultAsserts")
            if self._default is not None:
                without = given is not None and given.express("no default assertions") is True
                self._add(test, self._default, without_assertions=without)
            for layer in layers:
                self._add(test, layer)
            yield test

    def _layers(self) -> Iterator[list[Source]]:
        tests, scenarios = self._config.get("tests"), self._config.get("scenarios")
        if tests is None and scenarios is None:
            yield []
        for test in [] if tests is None else self._listed(tests):
            yield [test]
        for scenario in [] if scenarios is None else self._listed(scenarios):
            configs = scenario.get("config")
            inner = scenario.get("tests")
            for config in [] if configs is None else list(self._listed(configs)):
                for test in [config] if inner is None else self._listed(inner):
                    yield [scenario, config, test] if inner is not None else [scenario, config]

    def _listed(self, node: Source) -> Iterator[Source]:
        generator = node.get("path")
        if generator is not None or (file_name(node) is not None and is_code(node.peek())):
            node.report(Gap.REFUSED, "a program would be run to make the tests; export them as YAML or CSV")
            return
        for each in self._references.listed(node):
            if each.get("path") is not None and each.get("vars") is None:
                each.report(Gap.REFUSED, "a program would be run to make the tests; export them as YAML or CSV")
            elif each.is_mapping:
                yield each
            else:
                each.report(Gap.NOT_READ, "it is not a test")

    def _add(self, test: PromptfooTest, layer: Source, *, without_assertions: bool = False) -> None:
        """Add what one layer says; it overrides those before it."""
        keys = dict(layer.items())
        if layer.document.lower().endswith(TABLES):
            test.columns += [(key, each) for key, each in keys.items() if key.startswith(TABLE)]
            self._override(test.variables, {key: each for key, each in keys.items() if not key.startswith(TABLE)})
            return
        for key, each in keys.items():
            if key == "vars":
                self._add_variables(test, each)
            elif key == "assert":
                if not without_assertions:
                    test.assertions += self._references.listed(each)
            elif key == "description":
                test.descriptions.append(each)
            elif key in ("metadata", "options"):
                found = self._references.resolved(each)
                self._override(getattr(test, key), {} if found is None else dict(found.items()))
            elif key in ("threshold", "provider", "prompts"):
                before = getattr(test, key)
                if before is not None and before.path != each.path:
                    before.express(OVERRIDDEN)
                setattr(test, key, each)
            elif key not in ("config", "tests"):  # of a scenario
                test.rest.append((key, each))

    def _add_variables(self, test: PromptfooTest, given: Source) -> None:
        found = self._references.listed(given) if not given.is_mapping else iter([given])
        for each in found:
            self._override(test.variables, dict(each.items()))

    def _override(self, into: dict[str, Source], given: dict[str, Source]) -> None:
        for key, each in given.items():
            if key in into and str(into[key]) != str(each):
                into[key].express(OVERRIDDEN)
            into[key] = each
