"""Sessions of pytest that tests start load no plugins but Viva's and pytest-xdist."""

OTHERS = ("anyio", "asyncio", "hypothesispytest", "phoenix", "randomly")
"""Plugins of Viva's own tests, and of libraries that they use: they take several times as long to load, in each worker,
as most of these sessions last."""
WITHOUT_OTHERS = tuple(f"-pno:{name}" for name in OTHERS)
INI = f"[pytest]\naddopts = {' '.join(WITHOUT_OTHERS)}\n"
