"""A picture in a message is sent as the file that it is."""

from __future__ import annotations

import base64

from autogen_agentchat.messages import MultiModalMessage

from tests.ufo_folders import picture
from viva.models.picture import Picture


def test_the_file_is_sent_byte_for_byte_with_its_own_type() -> None:
    content = picture("hello")
    message = MultiModalMessage(content=["Look:", Picture(content)], source="user")
    shown = message.to_model_message().content[1]
    assert isinstance(shown, Picture)
    url = shown.to_openai_format()["image_url"]["url"]
    assert url == f"data:image/png;base64,{base64.b64encode(content).decode()}"
    assert shown.image.size == (320, 200), "for code of AutoGen's that looks at it"
