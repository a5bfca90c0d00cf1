"""The tools of both agents of smolagents that are recorded."""

from __future__ import annotations

from smolagents import tool

from tests.viva.recordings.frameworks.make.script import convert, get_weather


@tool
def weather(city: str) -> str:
    """Tell the weather of a city.

    Args:
        city: Its name.
    """
    return get_weather(city)


@tool
def convert_degrees(degrees: int, unit: str) -> str:
    """Convert degrees Celsius into another unit.

    Args:
        degrees: How many.
        unit: The other unit.
    """
    return convert(degrees, unit)


weather.name, convert_degrees.name = "get_weather", "convert"
