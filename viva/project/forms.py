"""What the values of options are: paths, agents, parts that are imported. An option that is not listed is suspect."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto


class OptionForm(Enum):
    """What the text of an option's value means, as far as paths and code are concerned."""

    PLAIN = auto()
    """Numbers, names and patterns, with which nothing is loaded."""
    PATH = auto()
    JOURNAL = auto()
    """A path, perhaps with `#RUN-ID`."""
    OUTPUT = auto()
    """The path of a folder that is written."""
    ANSWERS = auto()
    """The path of a folder with answers of models, which are believed."""
    CASES = auto()
    """A path, or the name of a bundled case."""
    AGENT = auto()
    """An agent's SPEC."""
    VARIED = auto()
    """`NAME=VALUE,VALUE…`; a value may be the path of a text."""
    PARTS = auto()
    """The names of installed parts, or import strings."""
    SINK = auto()
    MODEL = auto()
    """The name of a model, or the path of a file."""
    QUESTIONS = auto()
    """A kind of examiner, or `replay:JOURNAL`."""
    SANDBOX = auto()
    PERMISSION = auto()
    """A flag that permits what is refused without it."""
    CLUSTER = auto()
    """Where work, and with it code, is sent to and taken from."""


_OF: Mapping[OptionForm, str] = {
    OptionForm.PATH: "apis app_dir label_files session_config",
    OptionForm.JOURNAL: "baseline changed_since failed_in labelled reference resume",
    OptionForm.OUTPUT: "out",
    OptionForm.ANSWERS: "cache",
    OptionForm.CASES: "case paths",
    OptionForm.AGENT: "agent agents",
    OptionForm.VARIED: "vary",
    OptionForm.PARTS: "evaluators match_arguments",
    OptionForm.SINK: "sinks",
    OptionForm.MODEL: "backup_model exam_review examiner_model judge_model model",
    OptionForm.QUESTIONS: "examiner",
    OptionForm.SANDBOX: "sandbox",
    OptionForm.PERMISSION: "allow_pre_command allow_source_dependencies",
    OptionForm.CLUSTER: "engine ray_address",
    OptionForm.PLAIN: (
        "agent_memory_mb as_json attempts check_memory_mb check_seconds concurrency corrected evaluator_seconds "
        "fail_under isolate judge level margin max_cost max_drop max_examiner_faults max_output_tokens max_rounds "
        "max_runs max_time max_tokens model_calls model_seconds names no_exchange no_states permissions personas "
        "pre_command_seconds prices quiet ray_workers reply_seconds run_seconds sandbox_fresh sandboxes screenshots "
        "strategies tags threshold trials until votes where"
    ),
}
FORMS: Mapping[str, OptionForm] = {name: form for form, names in _OF.items() for name in names.split()}
"""By the name of the command's parameter."""
