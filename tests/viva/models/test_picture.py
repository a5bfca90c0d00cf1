"""A picture in a message is sent as the file that it is."""

from __future__ import annotations

import base64

from autogen_core.models import UserMessage

from tests.ufo_folders import picture
from viva.models.autogen.messages import AgentMessages, SentPicture, to_autogen
from viva.models.model import ModelMessage, PictureFile


def test_the_file_is_sent_byte_for_byte_with_its_own_type() -> None:
    content = picture("hello")
    (message,) = to_autogen([ModelMessage("user", ("Look:", PictureFile(content)))])
    assert isinstance(message, UserMessage)
    shown = message.content[1]
    assert isinstance(shown, SentPicture)
    url = shown.to_openai_format()["image_url"]["url"]
    assert url == f"data:image/png;base64,{base64.b64encode(content).decode()}" == PictureFile(content).url
    assert shown.image.size == (320, 200), "for code of AutoGen's that looks at it"
    assert AgentMessages([message])[0].content == ("Look:", PictureFile(content))
