"""
Nonces of orders: they rise, also across restarts, and processes that trade for one wallet do not take each other's.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from .amounts import UINT64_MAX
from .errors import BadArgument

_LANES = 4_096


class Nonces(Protocol):
    """Where an order's nonce comes from."""

    def next(self) -> int:
        """A nonce above all earlier ones."""
        ...


class MemoryNonces:
    """
    Milliseconds since the epoch times 4096, plus a lane that each object draws at random. The time alone would collide:
    for two orders in one millisecond, which take two milliseconds here, and for two processes of one wallet, whose
    lanes differ. After a restart the time has gone on. The numbers stay below 2^53 until 2039.
    """

    def __init__(self, *, now_s: Callable[[], float] = time.time, lane: int | None = None) -> None:
        self._now_s = now_s
        self._lane = secrets.randbelow(_LANES) if lane is None else lane % _LANES
        self._last_ms = -1
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            self._last_ms = max(self._last_ms + 1, int(self._now_s() * 1_000))
            return self._last_ms * _LANES + self._lane


class FileNonces:
    """
    Nonces that rise whatever the clock does: the file has the highest one that may have been given out. Each object
    takes a block at a time from it, under a lock, so several processes may share one file. A block that a process did
    not use up is never used. Needs a POSIX system.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, now_s: Callable[[], float] = time.time, block: int = 1_000
    ) -> None:
        self._path = Path(path)
        self._now_s = now_s
        self._block = block
        self._next = 0
        self._end = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            if self._next >= self._end:
                self._next, self._end = self._take_block()
            nonce = self._next
            self._next += 1
            return nonce

    def _take_block(self) -> tuple[int, int]:
        import fcntl

        with open(self._path.with_name(f"{self._path.name}.lock"), "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            first = max(self._highest() + 1, int(self._now_s() * 1_000) * _LANES)
            end = first + self._block
            if end > UINT64_MAX:
                raise BadArgument(f"the nonces of {self._path} are used up: the highest is {first - 1}")
            # The file is replaced as a whole: after a crash it has the old number or the new one.
            new = self._path.with_name(f"{self._path.name}.new")
            with open(new, "w", encoding="ascii") as file:
                file.write(f"{end - 1}\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self._path)
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            return first, end

    def _highest(self) -> int:
        try:
            text = self._path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return -1
        except UnicodeDecodeError:
            text = "what is no text"
        if not text.isdecimal():
            raise BadArgument(
                f"{self._path} has no nonce in it but {text[:40]!r}: restore it, or remove it to begin with the time"
            )
        return int(text)
