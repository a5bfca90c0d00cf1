"""TaskWeaver's applications in several forms."""

from taskweaver.app.app import TaskWeaverApp

from viva import VirtualUser


class TaskWeaverVirtualUser(VirtualUser):
    """As published by TaskWeaver; only its import line was changed."""

    def __init__(self, task_description: str, app_dir: str, config_var: dict | None = None):
        super().__init__(task_description)

        self.app = TaskWeaverApp(app_dir=app_dir, config=config_var)
        self.session = self.app.get_session()
        self.session_id = self.session.session_id

    def get_reply_from_agent(self, message: str) -> str:
        response_round = self.session.send_message(
            message,
            event_handler=None,
        )
        assert response_round.state != "failed", "Failed to get response from agent."
        return response_round.post_list[-1].message

    def close(self):
        self.app.stop()


def made(app_dir, config_var):
    """An application for each run."""
    return TaskWeaverApp(app_dir=app_dir, config=config_var)
