"""The settings of the session evaluator: UFO's options, from the command line, the environment or a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from viva.errors import SetupError
from viva.regular_files import read_text

Level = Literal["session", "round", "both"]
Screenshots = Literal["all", "ends", "none"]
KEYS = (
    "EVA_SESSION",
    "EVA_ROUND",
    "EVA_ALL_SCREENSHOTS",
    "EVA_VISUAL_MODE",
    "EVALUATION_PROMPT",
    "EVALUATION_EXAMPLE_PROMPT",
)
"""The keys that a file or the environment can set; the first three are UFO's. Other keys of a file are ignored."""
MOST_TEXT = 200_000
"""The maximum characters of a prompt, or of the descriptions of the APIs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of the session evaluator."""

    level: Level = "session"
    screenshots: Screenshots = "all"
    main_prompt: str = ""
    """Replaces the guidance in the judge's prompt, unless it is empty. The form of the answer stays."""
    example_prompt: str = ""
    """Examples of requests and answers. Empty means none."""
    apis: str = ""
    """The descriptions of the agent's APIs. If empty, the tool definitions of the transcript are used."""


def load_settings(
    level: str | None = None,
    screenshots: str | None = None,
    apis: str | Path | None = None,
    config: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings. The arguments come first, then the environment, then the file.

    Args:
        level: `session`, `round` or `both`.
        screenshots: `all`, `ends` or `none`.
        apis: A file with the descriptions of the APIs: plain text, or YAML as UFO's `api.yaml`.
        config: A YAML file with `KEYS`, as UFO's `system.yaml`.
        environment: None means that of the process.

    Raises:
        SetupError: a file cannot be read, or a value is not allowed. The message names the place.
    """
    surroundings = os.environ if environment is None else environment
    found: dict[str, tuple[str, Any]] = {}
    if config is not None:
        found |= {key: (f"{key} in {config}", value) for key, value in _config(Path(config)).items()}
    found |= {
        key: (f"{key} in the environment", surroundings[key]) for key in KEYS if surroundings.get(key, "").strip()
    }
    settings = _from(found)
    if level is not None:
        settings = replace(settings, level=_one_of("--level", level, Level))
    if screenshots is not None:
        settings = replace(settings, screenshots=_one_of("--screenshots", screenshots, Screenshots))
    if apis is not None:
        settings = replace(settings, apis=api_descriptions(Path(apis)))
    return settings


def _from(found: Mapping[str, tuple[str, Any]]) -> Settings:
    def flag(key: str, usual: bool) -> bool:
        return _flag(*found[key]) if key in found else usual

    session, rounds = flag("EVA_SESSION", True), flag("EVA_ROUND", False)
    if not (session or rounds):
        raise SetupError("EVA_SESSION and EVA_ROUND are both false: there is nothing to judge. Set one to true.")
    shown: Screenshots = "all" if flag("EVA_ALL_SCREENSHOTS", True) else "ends"
    prompts = {}
    for key in ("EVALUATION_PROMPT", "EVALUATION_EXAMPLE_PROMPT"):
        where, value = found.get(key, (key, ""))
        if not isinstance(value, str):
            raise SetupError(f"{where} must be the path of a file, not {value!r:.80}.")
        prompts[key] = prompt_text(value)
    return Settings(
        level="both" if session and rounds else "session" if session else "round",
        screenshots=shown if flag("EVA_VISUAL_MODE", True) else "none",
        main_prompt=prompts["EVALUATION_PROMPT"],
        example_prompt=prompts["EVALUATION_EXAMPLE_PROMPT"],
    )


def prompt_text(given: str) -> str:
    """Return the text of a prompt. The argument is the path of a file, or the text itself if it has several lines.

    From a YAML file as UFO's `evaluate.yaml` the text under `system` is taken, and from one with examples these.

    Raises:
        SetupError: there is no such file, or it cannot be read.
    """
    if not given.strip() or "\n" in given:
        return given.strip()
    text = _read(Path(given), "the prompt file")
    if Path(given).suffix.lower() not in (".yaml", ".yml"):
        return text
    # All values stay text: YAML takes a plain `yes`, which is an answer here, for a truth value.
    data = _yaml(Path(given), text, yaml.BaseLoader)
    if isinstance(data, dict) and isinstance(data.get("system"), str):
        return str(data["system"]).replace("{{", "{").replace("}}", "}")
    if isinstance(data, dict) and any(str(key).startswith("example") for key in data):
        return _examples(data)
    raise SetupError(f"the prompt file {given} has neither the key `system` nor one that begins with `example`.")


def api_descriptions(file: Path) -> str:
    """Return the descriptions of the agent's APIs from a file.

    Raises:
        SetupError: the file cannot be read.
    """
    text = _read(file, "the file of APIs")
    data = _yaml(file, text) if file.suffix.lower() in (".yaml", ".yml", ".json") else None
    if not isinstance(data, dict) or not all(isinstance(value, dict) for value in data.values()):
        return text
    lines = []
    for name, told in data.items():
        words = [str(told[key]).strip() for key in ("summary", "description", "usage") if told.get(key)]
        lines.append(f"- {name}: " + " ".join(words))
    return "\n".join(lines)


def _examples(data: Mapping[Any, Any]) -> str:
    """Return the examples of a file in UFO's format: `Request` and `Response` under keys that begin with `example`."""
    found = []
    for key, value in data.items():
        if str(key).startswith("example") and isinstance(value, dict):
            response = value.get("Response")
            shown = response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
            found.append(f"[Request]: {value.get('Request')}\n[Response]: {shown}")
    return "\n\n".join(found)


def _config(file: Path) -> dict[str, Any]:
    data = _yaml(file, _read(file, "the configuration file"))
    if not isinstance(data, dict):
        raise SetupError(f"{file} is not a mapping; it needs keys such as EVA_SESSION: true.")
    for key in data:
        if str(key).startswith("EVA_") and key not in KEYS:
            close = get_close_matches(str(key), KEYS, 1)
            hint = f"did you mean {close[0]}?" if close else f"the known ones are {', '.join(KEYS)}."
            raise SetupError(f"{file}: {str(key)[:80]} is not an option of the evaluation; {hint}")
    return {key: data[key] for key in KEYS if data.get(key) is not None}


def _read(file: Path, what: str) -> str:
    text = read_text(file, what)
    if len(text) > MOST_TEXT:
        raise SetupError(f"{what} {file} is longer than {MOST_TEXT:,} characters.")
    return text.strip()


def _yaml(file: Path, text: str, loader: type[yaml.SafeLoader | yaml.BaseLoader] = yaml.SafeLoader) -> Any:
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506 - both loaders make plain data only
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise SetupError(f"{file} is not YAML: {' '.join(str(error).split())[:300]}.") from error


def _flag(where: str, value: Any) -> bool:
    words = str(value).strip().lower()
    if words in ("true", "1", "yes", "on"):
        return True
    if words in ("false", "0", "no", "off"):
        return False
    raise SetupError(f"{where} must be true or false, not {value!r:.80}.")


def _one_of(where: str, value: str, kind: Any) -> Any:
    if value not in get_args(kind):
        raise SetupError(f"{where} takes {', '.join(get_args(kind))}, not {value!r:.80}.")
    return value
