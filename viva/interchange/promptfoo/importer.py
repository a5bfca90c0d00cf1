"""Makes cases of a promptfoo configuration: one for each test, prompt, and combination of listed values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from viva.errors import SetupError
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions
from viva.interchange.ledger import Gap
from viva.interchange.names import safe_name
from viva.interchange.promptfoo.columns import add_columns
from viva.interchange.promptfoo.points import PointMaker
from viva.interchange.promptfoo.prompts import Prompt, Turn, fallback, read_prompts
from viva.interchange.promptfoo.references import FileReferences, file_name
from viva.interchange.promptfoo.suite import report_suite
from viva.interchange.promptfoo.templates import filled_in, in_words, is_template, names_in
from viva.interchange.promptfoo.tests import MOST_TESTS, PromptfooTest, TestReader
from viva.interchange.promptfoo.users import add_user, is_simulated_user
from viva.interchange.source import Source
from viva.records.wording import counted

KEYS = ("prompts", "providers", "targets", "tests", "scenarios", "defaultTest")
OURS = "promptfoo"
"""The entry of a case's `metadata` for what only an export needs."""
DESCRIPTION = "description"
NAMES = ("promptfooconfig", "promptfoo")


def recognises(source: SourceFile) -> bool:
    """Return whether a file is a configuration of promptfoo."""
    if source.path.is_dir() or source.suffix in (".csv", ".tsv", ".jsonl", ".ndjson"):
        return False
    tree = source.tree()
    keys = {key for key, _ in tree.items()}
    cases = keys & {"tests", "scenarios", "defaultTest"}
    return bool(cases and keys & {"prompts", "providers", "targets"}) or (
        bool(cases) and source.path.name.lower().startswith(NAMES)
    )


def read(source: SourceFile, options: ImportOptions) -> Sequence[CaseDraft]:
    """Return the cases of a configuration.

    Raises:
        SetupError: it is not one, or has too many cases.
    """
    source.as_core_yaml()
    config = source.tree()
    if not config.is_mapping:
        raise SetupError(f"{source.path} is not a configuration of promptfoo: it must be a mapping.")
    references = FileReferences(source)
    prompts = read_prompts(config, references)
    drafts: list[CaseDraft] = []
    for number, test in enumerate(TestReader(config, references).tests(), 1):
        for draft in _Cases(test, prompts, references, number).drafts():
            drafts.append(draft)
            if len(drafts) > MOST_TESTS:
                raise SetupError(f"{source.path} makes more than {MOST_TESTS:,} cases; split it.")
    report_suite(config, drafts)
    return drafts


class _Cases:
    """The cases of one test."""

    def __init__(self, test: PromptfooTest, prompts: list[Prompt], references: FileReferences, number: int) -> None:
        self._test = test
        self._prompts = prompts
        self._references = references
        self._number = number

    def drafts(self) -> Iterator[CaseDraft]:
        prompts = self._chosen()
        sets = list(self._values())
        for index, variables in enumerate(sets):
            for which, prompt in enumerate(prompts):
                draft = CaseDraft(self._title(variables, index if len(sets) > 1 else None))
                if len(prompts) > 1:
                    draft.title += f" prompt {which + 1}"
                    draft.tags.append(f"prompt-{which + 1}")
                self._fill(draft, prompt, variables)
                self._keep_description(draft)
                yield draft

    def _keep_description(self, draft: CaseDraft) -> None:
        """Keep a description that the name of the case does not say in full, so that an export gives it back."""
        kept = draft.metadata.get(OURS, {})
        described = any(each.is_text for each in self._test.descriptions)
        if described and safe_name(draft.title) != draft.title and isinstance(kept, dict):
            draft.metadata[OURS] = {**kept, DESCRIPTION: draft.title}

    def _chosen(self) -> list[Prompt | None]:
        if is_simulated_user(self._test.provider):
            return [None]
        chosen = list(self._prompts)
        if (names := self._test.prompts) is not None:
            patterns = [str(each.peek()) for each in names.leaves()]
            chosen = [prompt for prompt in chosen if prompt.is_chosen(patterns)]
            names.express("which prompts are said") if chosen else names.report(Gap.NOT_READ, "no prompt has this name")
        return [*chosen] or [None]

    def _values(self) -> Iterator[dict[str, Any]]:
        """Yield the variables of each case: a list of values stands for one case with each of them."""
        fixed: dict[str, list[Any]] = {}
        for name, node in self._test.variables.items():
            value = self._value(node)
            given = self._test.options.get("disableVarExpansion")
            expanded = isinstance(value, list) and name != "initialMessages"
            if given is not None and given.express("no case for each listed value") is True:
                expanded = False
            fixed[name] = value if expanded and isinstance(value, list) and value else [value]
        count = 1
        for values in fixed.values():
            count *= len(values)
        if count > MOST_TESTS:
            raise SetupError(
                f"{self._test.where}: its lists of values make {counted(count, 'case')}; the maximum is {MOST_TESTS:,}."
            )
        for chosen in product(*fixed.values()):
            variables = dict(zip(fixed, chosen, strict=True))
            filled, _ = filled_in(variables, variables)
            yield filled

    def _value(self, node: Source) -> Any:
        if file_name(node) is not None:
            found = self._references.resolved(node)
            if found is None:
                return node.peek()
            found.take() if not is_template(found.peek()) else found.express("a variable")
            return found.peek() if isinstance(found.peek(), str) else in_words(found.peek())
        node.take() if not is_template(node.peek()) else node.express("a variable")
        return node.peek()

    def _title(self, variables: Mapping[str, Any], index: int | None) -> str:
        words = " ".join(str(each.express("the name of a case")) for each in self._test.descriptions if each.is_text)
        words, _ = filled_in(words, variables)
        if not words:
            first = next((in_words(value) for value in variables.values()), "")
            return f"{self._number:04} {first[:40]}" if index is None else f"{self._number:04}-{index + 1} {first[:40]}"
        return str(words) if index is None else f"{words} {index + 1}"

    def _fill(self, draft: CaseDraft, prompt: Prompt | None, variables: Mapping[str, Any]) -> None:
        test = self._test
        used = self._say(draft, prompt, variables)
        points = PointMaker(draft, variables, self._references)
        for assertion in test.assertions:
            points.add(assertion)
        add_columns(draft, test, points)
        if not draft.points and not draft.marks:
            draft.mark("say what a good answer is: the test has no assertion")
        if test.threshold is not None:
            value = test.threshold.peek()
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
                draft.fields["threshold"] = test.threshold.take()
            else:
                test.threshold.report(Gap.NOT_READ, "a threshold is a number from 0 to 1")
        for key, each in test.metadata.items():
            if key == "tags" and each.is_list and all(tag.is_text for tag in each.elements()):
                draft.tags += each.take()
            else:
                draft.metadata[key] = each.take()
        if unused := {name: value for name, value in variables.items() if name not in used}:
            draft.metadata["vars"] = unused
        self._options(draft)

    def _say(self, draft: CaseDraft, prompt: Prompt | None, variables: Mapping[str, Any]) -> set[str]:
        """Add what is said to the agent, and return the names of the variables that this used up."""
        provider = self._test.provider
        if provider is not None and is_simulated_user(provider):
            add_user(draft, provider, self._test.variables, variables, self._references)
            return {"instructions", "initialMessages"}
        if provider is not None:
            provider.report(Gap.NEEDS_A_PERSON, "the agent of a test; name it with --agent")
        if prompt is None:
            name = fallback(variables)
            draft.script.append(
                in_words(variables[name]) if name else in_words(dict(variables)) if variables else "Hello."
            )
            if not name:
                draft.mark("say what the user says to the agent: the prompt could not be imported")
            return {name} if name else set(variables)
        before, after = (self._around(key, variables) for key in ("prefix", "suffix"))
        turns = [Turn(turn.role, turn.content) for turn in prompt.turns]
        last = max((index for index, turn in enumerate(turns) if turn.role == "user"), default=len(turns) - 1)
        turns[last].content = before + turns[last].content + after
        used: set[str] = set()
        for index, turn in enumerate(turns):
            text, left = filled_in(turn.content, variables)
            used |= set(names_in(turn.content)) & variables.keys()
            if left:
                draft.mark(f"complete the prompt: these parts of templates were left: {', '.join(left[:5])}")
            if index == last:
                draft.script.append(text if str(text).strip() else "(an empty message)")
            elif index < last and str(text).strip():
                draft.conversation.append({"role": turn.role, "content": text})
            else:
                draft.mark(f"the prompt ends with a message of the {turn.role}, which was left out: {text[:200]}")
        return {name for name in used if name in variables}

    def _around(self, key: str, variables: Mapping[str, Any]) -> str:
        found = self._test.options.get(key)
        return "" if found is None else in_words(filled_in(found.express("the message"), variables)[0])

    def _options(self, draft: CaseDraft) -> None:
        for key, each in self._test.options.items():
            if key in ("prefix", "suffix", "disableVarExpansion", "disableDefaultAsserts"):
                continue
            if key in ("transform", "postprocess", "transformVars"):
                each.report(Gap.REFUSED, "code that changes variables or answers; nothing of it is run")
                draft.mark(
                    f"promptfoo runs code here, which Viva does not ({each}): the checks see the answer as it is"
                )
            elif key in ("provider", "rubricPrompt", "factuality"):
                each.report(Gap.NO_HOME, "settings of the judge: name it with --judge-model")
            elif key in ("disableConversationVar", "runSerially"):
                each.express("each case has a conversation of its own")
            else:
                each.report(Gap.NO_HOME, "an option of a test")
        for key, each in self._test.rest:
            if key == "assertScoringFunction":
                each.report(Gap.REFUSED, "code that computes the score; the score is the weighted mean of the points")
                draft.mark(f"the score was computed by code ({each}); here it is the weighted mean of the points")
            elif key == "providerOutput":
                each.report(Gap.NO_HOME, "an answer given in advance; Viva asks the agent")
            elif key == "providers":
                each.report(Gap.NEEDS_A_PERSON, "the agents of a test; name them with --agent")
            else:
                each.report(Gap.NOT_READ, "the importer does not know this field of a test")
