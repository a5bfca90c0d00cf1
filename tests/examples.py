"""How many examples Hypothesis tries: few with all other tests, many in `make soak`."""

from __future__ import annotations

from hypothesis import settings

PROFILES = {"viva": 25, "viva-soak": 100}
"""The examples of a test that asks for no number of them."""
FEWEST = 10


def register_profiles() -> None:
    """Register the profiles, and load the one for all tests."""
    for name, examples in PROFILES.items():
        # A test promises a result, never a duration: a busy machine takes longer.
        settings.register_profile(name, deadline=None, max_examples=examples)
    settings.load_profile("viva")


def load_soak() -> None:
    """Load the profile of `make soak`."""
    settings.load_profile("viva-soak")


def examples(in_a_soak: int) -> int:
    """Return how many examples a test tries now that tries so many in `make soak`: a quarter, or all of them."""
    return max(FEWEST, in_a_soak * settings.get_profile(settings.get_current_profile_name()).max_examples // 100)
