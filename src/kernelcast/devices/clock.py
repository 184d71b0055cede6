"""Streams and events in forecast time.

What a stream is asked for begins when the host asks, and all before it in the stream is done; in
the default stream, when all before it in any blocking stream is, and these wait for it in turn
(CUDA C++ Programming Guide, Implicit Synchronization). The host's own work takes no time: its clock
moves where it waits for the device.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_ALL_STREAMS = (1 << 64) - 1
"""What waits for all streams names this one."""

_DEFAULT = (0, 1)
"""The default stream, by either of its handles."""
_PER_THREAD = 2


@dataclass
class Clock:
    """When the work of every stream is done, in seconds from the program's first."""

    now_s: float = 0.0
    end_s: float = 0.0
    _done: dict[int, float] = field(default_factory=lambda: {0: 0.0, _PER_THREAD: 0.0})
    _blocking: set[int] = field(default_factory=lambda: {0, _PER_THREAD})
    _events: dict[int, float] = field(default_factory=dict)

    def work(self, stream: int, seconds: float) -> tuple[float, float]:
        """Do something in a stream; when it begins and ends."""
        if stream in _DEFAULT:
            begin = max(self.now_s, *(self._done[s] for s in self._blocking))
            self._done[0] = begin + seconds
        else:
            waits = self._done[0] if stream in self._blocking else 0.0
            begin = max(self.now_s, self._done.get(stream, 0.0), waits)
            self._done[stream] = begin + seconds
        self.end_s = max(self.end_s, begin + seconds)
        return begin, begin + seconds

    def open(self, stream: int, is_blocking: bool) -> None:
        """A new stream."""
        self._done[stream] = 0.0
        if is_blocking:
            self._blocking.add(stream)

    def close(self, stream: int) -> None:
        """A stream that is needed no longer: the default stream still waits for its work."""
        done = self._done.pop(stream, 0.0)
        if stream in self._blocking:
            self._blocking.discard(stream)
            self._done[0] = max(self._done[0], done)

    def synchronize(self, stream: int) -> None:
        """Let the host wait for a stream, or for all."""
        if stream == _ALL_STREAMS:
            self.now_s = self.end_s
        else:
            _, self.now_s = self.work(stream, 0.0)

    def synchronize_event(self, event: int) -> None:
        """Let the host wait for an event."""
        self.now_s = max(self.now_s, self._events.get(event, 0.0))

    def record(self, event: int, stream: int) -> None:
        """Let an event be when the work so far of a stream is done."""
        _, self._events[event] = self.work(stream, 0.0)

    def wait(self, stream: int, event: int) -> None:
        """Let a stream go on no earlier than an event."""
        begin, _ = self.work(stream, 0.0)
        self.work(stream, max(self._events.get(event, 0.0) - begin, 0.0))

    def between(self, start: int, end: int) -> float | None:
        """Seconds from one event to another; None where one was never recorded."""
        if start not in self._events or end not in self._events:
            return None
        return self._events[end] - self._events[start]
