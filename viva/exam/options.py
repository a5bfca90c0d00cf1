"""Declares the options of an exam once, for the command line, the pytest plugin, stored plans and records.

It imports nothing of Viva but how options are declared, because pytest loads this module whenever Viva is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import Field, dataclass, fields
from typing import Any, Literal

from viva.exam.option_declaration import MAY_CHANGE, MAY_REPLACE, OPTION, Option, Part, Value, changeable, option

SandboxKind = Literal["auto", "docker", "bwrap", "process"]
SandboxFresh = Literal["world", "container"]
Permissions = Literal["allow", "deny", "ask-case"]
JudgeKind = Literal["code", "model", "both"]
EVALUATOR_SECONDS = 600.0
"""Long enough for a model that is asked about every round; one that hangs must not hold up a night's suite."""
MODEL_FILES = (".json", ".yaml", ".yml")
"""Endings of the files that describe models."""


def one_or_several(names: Iterable[str]) -> str | tuple[str, ...] | None:
    """Return the value of an option for models: None, the name of one, or the names of several."""
    several = tuple(names)
    return several if len(several) > 1 else several[0] if several else None


@dataclass(frozen=True, slots=True)
class Options:
    """The options of an exam. None means not given."""

    agent: str | None = None
    """Agent SPEC; None means the bundled careful agent. Commands declare it themselves, because some take several."""
    workspaces: tuple[str, ...] = ()
    """Folders outside of journals, absolute, in which files of stored runs may be read. `viva judge` declares it."""
    cases: tuple[str, ...] = ()
    """Folders of cases, absolute, in which data files are looked for that a journal does not hold. `viva replay
    --against` declares it."""
    judge: JudgeKind | None = option(
        None,
        "--judge",
        Part.JUDGE,
        "Judge of the points that have check or eval_code.",
        choices=("code", "model", "both"),
        default_words="code; the model always judges points without it",
    )
    evaluators: tuple[str, ...] = option(
        (),
        "--evaluators",
        Part.JUDGE,
        "Evaluators, the primary one first (it alone decides the score): names, package.module:Thing or file.py:Thing, "
        "also with parameters: 'file.py:Thing(words=3)'.",
        value=Value.TEXTS,
        metavar="NAME,…",
    )
    model: str | None = option(
        None,
        "--model",
        Part.JUDGE,
        "Model for examiner and judge: openai:NAME, or a JSON/YAML file with an AutoGen component.",
        metavar="NAME",
        may_replace=True,
    )
    """The model of both roles, unless one has its own."""
    judge_model: str | tuple[str, ...] | None = option(
        None,
        "--judge-model",
        Part.JUDGE,
        "Model for the judge alone. Can be repeated: each votes on the scoring points that a model judges.",
        value=Value.MODELS,
        metavar="NAME",
        may_replace=True,
    )
    """One, or several: a jury."""
    votes: int = option(
        1,
        "--votes",
        Part.JUDGE,
        "Maximum number of times that each model judges a scoring point; the majority decides.",
        value=Value.COUNT,
    )
    backup_model: str | None = option(
        None,
        "--backup-model",
        Part.JUDGE,
        "Model that judges a session if the first does not answer.",
        metavar="NAME",
        may_replace=True,
    )
    exam_review: str | None = option(
        None,
        "--exam-review",
        Part.JUDGE,
        "Have a model review each exam that a model examined: judge (the judge's model), or a model of its own.",
        metavar="judge|NAME",
        default_words="by code alone",
        may_replace=True,
    )
    no_exchange: bool = option(
        False,
        "--no-exchange",
        Part.JUDGE,
        "Do not keep what judges' models are asked and what they answer in the journal.",
        may_change=True,
        value=Value.FLAG,
    )
    prices: tuple[str, ...] = option(
        (),
        "--price",
        Part.JUDGE,
        "Price in dollars per million input and output tokens, of all models or of one. Can be repeated.",
        value=Value.TEXTS,
        metavar="[MODEL=]IN/OUT",
        default_words="a price list",
    )
    max_output_tokens: tuple[str, ...] = option(
        (),
        "--max-output-tokens",
        Part.JUDGE,
        "Maximum number of tokens of a model's answer, for all roles or for one: examiner, judge, trajectory, session, "
        "exam, analyst. Can be repeated.",
        value=Value.TEXTS,
        metavar="[ROLE=]N",
        default_words="by role; see `viva docs models`",
    )
    model_seconds: tuple[str, ...] = option(
        (),
        "--model-seconds",
        Part.JUDGE,
        "Maximum time of each attempt at a model's answer, for all roles or for one. Can be repeated.",
        value=Value.TEXTS,
        metavar="[ROLE=]SECONDS",
        default_words="VIVA_MODEL_SECONDS, else 300",
    )
    cache: str | None = option(
        None,
        "--cache",
        Part.JUDGE,
        "Keep the answers of the examiner's and the judges' models in this folder, and do not ask the same twice.",
        metavar="FOLDER",
        may_change=True,
    )
    level: str | None = option(
        None,
        "--level",
        Part.JUDGE,
        "What the session evaluator judges.",
        choices=("session", "round", "both"),
        default_words="EVA_SESSION and EVA_ROUND, else session",
    )
    screenshots: str | None = option(
        None,
        "--screenshots",
        Part.JUDGE,
        "Which screenshots the session evaluator shows to its model.",
        choices=("all", "ends", "none"),
        default_words="EVA_ALL_SCREENSHOTS, else all",
    )
    apis: str | None = option(
        None,
        "--apis",
        Part.JUDGE,
        "File that describes the APIs that the agent of a session could use.",
        metavar="FILE",
    )
    session_config: str | None = option(
        None, "--session-config", Part.JUDGE, "YAML file with EVA_SESSION, EVA_ROUND and similar keys.", metavar="FILE"
    )
    sandbox: SandboxKind = option(
        "auto",
        "--sandbox",
        Part.JUDGE,
        "Where eval_code runs.",
        choices=("auto", "docker", "bwrap", "process"),
        default_words="auto: the strongest available",
    )
    sandbox_fresh: SandboxFresh = option(
        "world",
        "--sandbox-fresh",
        Part.JUDGE,
        "Isolation of each run's checks: a world of their own in a warm container, or a container of their own.",
        choices=("world", "container"),
        default_words="world: where the machine allows it",
    )
    check_seconds: float | None = option(
        None,
        "--check-timeout",
        Part.JUDGE,
        "Maximum duration of one check.",
        value=Value.SECONDS,
        metavar="SECONDS",
        default_words="the case's, else 30",
    )
    check_memory_mb: int | None = option(
        None,
        "--check-memory",
        Part.JUDGE,
        "Maximum memory of one check.",
        value=Value.COUNT,
        metavar="MIB",
        least=32,
        default_words="the case's, else 512",
    )
    reference: str | None = option(
        None,
        "--reference",
        Part.JUDGE,
        "Reference trajectories: a JSON, JSON Lines or YAML file, or recording:FIELD.",
        metavar="FILE",
    )
    match_arguments: str = option(
        "exact",
        "--match-arguments",
        Part.JUDGE,
        "How to compare arguments with a reference: exact, partial, ignored, or file.py:function.",
        metavar="HOW",
        default_words="exact",
    )
    evaluator_seconds: float = option(
        EVALUATOR_SECONDS,
        "--evaluator-timeout",
        Part.JUDGE,
        "Maximum time that an evaluator of your own may take for one run.",
        value=Value.SECONDS,
        metavar="SECONDS",
    )
    allow_source_dependencies: bool = option(
        False,
        "--allow-source-dependencies",
        Part.JUDGE,
        "Allow dependencies that are source packages or URLs; building them runs their authors' code.",
        value=Value.FLAG,
    )
    examiner: str | None = option(
        None,
        "--examiner",
        Part.EXAMINER,
        "Source of the questions: script, model, auto (the script of each case that has one, else the model), or "
        "replay:JOURNAL.",
        metavar="KIND",
        default_words="model if one is given, else script",
    )
    examiner_model: str | None = option(
        None, "--examiner-model", Part.EXAMINER, "Model for the examiner alone.", metavar="NAME", may_replace=True
    )
    personas: tuple[str, ...] = option(
        (),
        "--persona",
        Part.EXAMINER,
        "Bundled persona that a model examiner plays instead of the case's, or all. Can be repeated in a suite.",
        value=Value.TEXTS,
        metavar="NAME",
    )
    strategies: tuple[str, ...] = option(
        (),
        "--strategy",
        Part.EXAMINER,
        "Bundled strategy by which a model examiner tries to mislead the agent, or all. Can be repeated in a suite.",
        value=Value.TEXTS,
        metavar="NAME",
    )
    max_rounds: int | None = option(
        None,
        "--max-rounds",
        Part.EXAMINER,
        "Maximum number of examiner messages.",
        value=Value.COUNT,
        default_words="the case's, else 15",
    )
    run_seconds: float | None = option(
        None,
        "--timeout",
        Part.EXAMINER,
        "Maximum duration of the conversation: seconds, or 90s, 5m, 1h.",
        value=Value.SECONDS,
        metavar="SECONDS",
        default_words="the case's, else none",
    )
    reply_seconds: float = option(
        300.0, "--reply-timeout", Part.AGENT, "Maximum wait for one reply.", value=Value.SECONDS, metavar="SECONDS"
    )
    app_dir: str | None = option(None, "--app-dir", Part.EXAMINER, "Override the case's app_dir.", metavar="FOLDER")
    allow_pre_command: bool = option(
        False,
        "--allow-pre-command",
        Part.AGENT,
        "Allow a case to run its pre_command and its MCP servers on this machine.",
        value=Value.FLAG,
    )
    pre_command_seconds: float = option(
        600.0,
        "--pre-command-timeout",
        Part.AGENT,
        "Maximum duration of each pre_command.",
        value=Value.SECONDS,
        metavar="SECONDS",
    )
    no_states: bool = option(
        False,
        "--no-states",
        Part.AGENT,
        "Do not keep the agent's state after each round, if its adapter offers it.",
        may_change=True,
        value=Value.FLAG,
    )
    isolate: bool = option(
        False,
        "--isolate",
        Part.AGENT,
        "Run an agent from a module or file in its own process.",
        value=Value.FLAG,
    )
    agent_memory_mb: int | None = option(
        None,
        "--agent-memory",
        Part.AGENT,
        "Maximum memory of an agent in its own process.",
        value=Value.COUNT,
        metavar="MIB",
        least=32,
    )
    permissions: Permissions | None = option(
        None,
        "--permissions",
        Part.AGENT,
        "Answer to an agent that asks for permissions (acp:…). ask-case: what the case's config_var says.",
        choices=("allow", "deny", "ask-case"),
        default_words="what the agent file says, else allow",
    )
    concurrency: int = changeable(1)
    """Maximum number of concurrent conversations. Commands declare it themselves, because their defaults differ."""
    sandboxes: int = changeable(4)
    """Maximum number of concurrent sandbox sessions. The suite command declares it: its default depends on the CPUs."""
    model_calls: int = option(
        64,
        "--model-calls",
        Part.SUITE,
        "Maximum number of concurrent calls to one provider.",
        may_change=True,
        value=Value.COUNT,
    )
    attempts: int = option(
        3,
        "--attempts",
        Part.SUITE,
        "Maximum number of attempts at a run whose examiner, sandbox or provider failed.",
        may_change=True,
        value=Value.COUNT,
    )
    judgings: int = changeable(2)
    """Maximum number of attempts to judge one conversation, if a retry may help."""

    @property
    def judge_models(self) -> tuple[str, ...]:
        """Return the names of the models that judge."""
        own = self.judge_model or self.model
        return (own,) if isinstance(own, str) else own or ()

    @classmethod
    def names(cls) -> frozenset[str]:
        """Return the names of all fields."""
        return frozenset(each.name for each in fields(cls))

    @classmethod
    def may_change(cls) -> frozenset[str]:
        """Return the names of the fields that may have other values when work is resumed."""
        return frozenset(each.name for each in fields(cls) if each.metadata.get(MAY_CHANGE))

    @classmethod
    def may_replace(cls) -> frozenset[str]:
        """Return the names of the fields that may have another value when work is resumed, if they had one."""
        return frozenset(each.name for each in fields(cls) if each.metadata.get(MAY_REPLACE))

    def differences(self, other: Options) -> list[str]:
        """Return the names of the fields that differ, without those that may change when work is resumed."""
        return [
            each.name
            for each in fields(self)
            if not each.metadata.get(MAY_CHANGE)
            and getattr(self, each.name) != getattr(other, each.name)
            and not (each.metadata.get(MAY_REPLACE) and getattr(self, each.name) and getattr(other, each.name))
        ]

    @classmethod
    def declared(cls, *parts: Part) -> Iterator[tuple[Field[Any], Option]]:
        """Yield the fields that are options of these parts, in order."""
        for each in fields(cls):
            found = each.metadata.get(OPTION)
            if found is not None and found.part in parts:
                yield each, found
