"""The base of models that pass their calls on to another model."""

from __future__ import annotations

from viva.models.model import Model, ModelFeatures


class WrappedModel:
    """Has the name and the features of another model; a subclass defines `ask`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = model.name

    @property
    def features(self) -> ModelFeatures:
        """Return what the model accepts."""
        return self._model.features
