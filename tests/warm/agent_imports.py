"""What processes of agents import of the standard library, before their own modules."""

import array
import base64
import contextlib
import ctypes
import dataclasses
import datetime
import fcntl
import importlib.util
import inspect
import io
import json
import pathlib
import pickle
import queue
import select
import signal
import socket
import termios
import threading
import typing

__all__ = [
    "array",
    "base64",
    "contextlib",
    "ctypes",
    "dataclasses",
    "datetime",
    "fcntl",
    "importlib",
    "inspect",
    "io",
    "json",
    "pathlib",
    "pickle",
    "queue",
    "select",
    "signal",
    "socket",
    "termios",
    "threading",
    "typing",
]
