"""`EvaluationAgent` judges the log folder of a desktop session from Python, with the methods of UFO's class.

The class is documented at microsoft.github.io/UFO. What belongs to UFO's own machinery (`get_prompter`,
`status_manager`) is left out.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from viva.api.arguments import checked
from viva.errors import SetupError
from viva.judge.session.evaluation_log import FILE, evaluation_of, write_evaluations
from viva.judge.session.evaluator import SessionEvaluator
from viva.judge.session.settings import Screenshots, Settings, api_descriptions, prompt_text
from viva.judge.session.trajectory import of_session, request_of, show_session
from viva.models.model import Model
from viva.models.prices import parse_prices
from viva.models.roles import parse_role_limits
from viva.recordings.desktop.screenshots import pictures_in
from viva.recordings.desktop.ufo import read_session
from viva.recordings.recording import Recording
from viva.records.evaluator import Context
from viva.records.text import one_line
from viva.records.verdict import Insight

if TYPE_CHECKING:
    from viva.models.client import ModelClient

LOG = logging.getLogger("viva")
MODEL, BACKUP_MODEL = "VIVA_MODEL", "VIVA_BACKUP_MODEL"
"""Variables of the environment that name the models where the program does not."""
_STYLES = {"yes": "green", "no": "red", "unsure": "yellow"}


class EvaluationAgent:
    """Judges whether the session in a log folder fulfilled the user's request."""

    @checked
    def __init__(
        self,
        name: str,
        is_visual: bool = True,
        main_prompt: str = "",
        example_prompt: str = "",
        *,
        model: str | Model | None = None,
        backup_model: str | Model | None = None,
        apis: str | os.PathLike[str] | None = None,
        prices: str | Iterable[str] = (),
        max_output_tokens: str | Iterable[str] = (),
        model_seconds: str | Iterable[str] = (),
    ) -> None:
        """Args:
        name: The agent's name; it is printed, and means nothing else.
        is_visual: Whether the model is shown screenshots.
        main_prompt: A file (or several lines of text) that replaces the guidance in the prompt; empty for Viva's own.
            Of a YAML file as UFO's `evaluate.yaml` the text under `system` is taken.
        example_prompt: A file (or several lines of text) with examples; empty for none.
        model: As `--model` takes it, or a model; None takes the environment's `VIVA_MODEL`.
        backup_model: The same for the model that is asked where the first does not answer (`VIVA_BACKUP_MODEL`).
        apis: A file with the descriptions of the APIs.
        prices: As `--price` takes them.
        max_output_tokens: As `--max-output-tokens` takes them; the role is `session`.
        model_seconds: As `--model-seconds` takes them.

        Raises:
            SetupError: a file, a price or a limit is not right, or no model is named.
        """
        self.name = name
        self.is_visual = is_visual
        self._settings = Settings(
            main_prompt=prompt_text(main_prompt),
            example_prompt=prompt_text(example_prompt),
            apis="" if apis is None else api_descriptions(Path(apis)),
        )
        self._model = model or os.environ.get(MODEL) or None
        self._backup = backup_model or os.environ.get(BACKUP_MODEL) or None
        self._prices = parse_prices(_several(prices))
        self._limits = parse_role_limits(_several(max_output_tokens), _several(model_seconds))

    @checked
    def evaluate(
        self,
        request: str,
        log_path: str | os.PathLike[str],
        eva_all_screenshots: bool = True,
        context: Context | None = None,
    ) -> tuple[dict[str, Any], float | None]:
        """Judge a session, and write the result into the folder: `evaluation.log`, or the next free number.

        Args:
            request: What the user asked for; empty takes it from the log.
            log_path: The session's log folder.
            eva_all_screenshots: Show each step's screenshot and the final one; else the first and the last.
            context: Its `case` adds the task of an exam to the request.

        Returns:
            The result (`reason`, `sub_scores`, `complete`, `level`, `request`, `type`, `cost`, `attempts`, and `error`
            where there is no usable answer, in which case `complete` is `unsure`), and its cost in dollars, None if
            that is not known.

        Raises:
            SetupError: the log cannot be read, no model is named, or it cannot be used.
            RuntimeError: an event loop runs here; await `evaluate_async`.
        """
        if asyncio._get_running_loop() is not None:
            raise RuntimeError("evaluate() would block the event loop that runs here: write `await evaluate_async(…)`.")
        return asyncio.run(self.evaluate_async(request, log_path, eva_all_screenshots, context))

    @checked
    async def evaluate_async(
        self,
        request: str,
        log_path: str | os.PathLike[str],
        eva_all_screenshots: bool = True,
        context: Context | None = None,
    ) -> tuple[dict[str, Any], float | None]:
        """Judge a session like `evaluate`, in code with an event loop."""
        folder = Path(log_path)
        recording = await asyncio.to_thread(read_session, folder)
        made: list[ModelClient] = []
        try:
            model = self._made(self._model, made)
            if model is None:
                raise SetupError(
                    f"the evaluation requires a model: EvaluationAgent(…, model='openai:NAME'), or {MODEL}."
                )
            backup = self._made(self._backup, made)
            for each in made:
                await each.look()
            evaluator = SessionEvaluator(model, backup, settings=self._settings_for(eva_all_screenshots))
            (insight,) = await evaluator.judge_transcript(
                recording.transcript,
                context.subject if context is not None else recording.run_key,
                pictures_in(folder),
                request=self._request(request, recording, context),
            )
        finally:
            for each in made:
                await each.close()
        result = _written(insight, folder)
        return result, result["cost"]

    @checked
    def message_constructor(
        self, log_path: str | os.PathLike[str], request: str, eva_all_screenshots: bool = True
    ) -> list[dict[str, Any]]:
        """Construct the messages that a model would be sent, in OpenAI's format, without sending them.

        Raises:
            SetupError: the log cannot be read.
        """
        from viva.judge.session.judging import compose, system_prompt
        from viva.judge.session.shots import prepare

        folder = Path(log_path)
        recording = read_session(folder)
        settings = self._settings_for(eva_all_screenshots)
        subject = of_session(
            recording.transcript, recording.run_key, self._request(request, recording, None), settings.apis
        )
        shown = prepare(recording.transcript, settings.screenshots, pictures_in(folder))
        question, parts = compose(subject, show_session(subject), shown, secrets.token_hex(4))
        content: list[dict[str, Any]] = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {"type": "image_url", "image_url": {"url": part.url, "detail": "auto"}}
            for part in (question, *parts)
        ]
        return [
            {"role": "system", "content": system_prompt(settings, shown)},
            {"role": "user", "content": content},
        ]

    @checked
    def print_response(self, response_dict: Mapping[str, Any]) -> None:
        """Print a result: the sub-goals, the whole, and the reason."""
        console = Console()
        console.print(Text(f"{one_line(self.name, 60)}: the evaluation", style="bold"))
        scores = response_dict.get("sub_scores")
        for each in scores if isinstance(scores, list | tuple) else ():
            if isinstance(each, Mapping):
                evaluation = one_line(str(each.get("evaluation")), 20)
                words = f"  {evaluation:<7} {one_line(str(each.get('name')), 200)}"
                console.print(Text(words, style=_STYLES.get(evaluation, "")))
        complete = one_line(str(response_dict.get("complete")), 20)
        console.print(Text(f"complete: {complete}", style=_STYLES.get(complete, "bold")))
        console.print(Text(f"reason: {one_line(str(response_dict.get('reason', '')), 4000)}"))

    def process_confirmation(self) -> None:
        """Do nothing, as in UFO."""

    def _settings_for(self, all_screenshots: bool) -> Settings:
        shown: Screenshots = "none" if not self.is_visual else "all" if all_screenshots else "ends"
        return replace(self._settings, screenshots=shown)

    def _request(self, request: str, recording: Recording, context: Context | None) -> str:
        task = context.case.task_description if context is not None and context.case is not None else ""
        return request or request_of(recording.transcript.rounds, task)

    def _made(self, model: str | Model | None, made: list[ModelClient]) -> Model | None:
        """Return the model of this name. A model that is created here is closed by `evaluate`."""
        if model is None:
            return None
        if isinstance(model, str):
            from viva.models.factory import make_model

            made.append(make_model(model, prices=self._prices))
            model = made[-1]
        return self._limits.limited(model, "session")


def _several(given: str | Iterable[str]) -> Iterable[str]:
    return (given,) if isinstance(given, str) else given


def _written(insight: Insight, folder: Path) -> dict[str, Any]:
    """Return the result, and write it into the folder if that is possible."""
    result = evaluation_of(insight)
    try:
        write_evaluations(folder, [result])
    except OSError as error:
        LOG.warning("%s cannot be written: %s", one_line(str(folder / FILE), 300), error.strerror or error)
    return result
