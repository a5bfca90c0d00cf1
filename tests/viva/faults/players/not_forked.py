"""The same agent, in a module whose import starts a thread, so that no process is forked from one that has it."""

import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from faulty_classes import OwnProcess

threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
__all__ = ["OwnProcess"]
