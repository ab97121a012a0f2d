"""Verbs that objects of both faces have: called by threads, awaited by tasks.

A class of verbs is written once, as steps (adapter/connection/channel/steps.py). The class of each
face inherits it and says how steps are driven. To a type checker, too, a verb returns its result on
an object of threads, and a coroutine on an object of tasks. This module knows no verb.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.steps import Steps, run

P = ParamSpec("P")
ResultT = TypeVar("ResultT")


class ThreadFace:
    """An object whose verbs return when they have been answered."""

    _channel: Channel

    def _run(self, steps: Steps[ResultT]) -> ResultT:
        return run(self._channel, steps)


class TaskRunner(Protocol):
    """The channel of tasks, as an object with verbs sees it."""

    async def run(self, steps: Steps[ResultT]) -> ResultT:
        """Drive a verb; return its result."""


class TaskFace:
    """An object whose verbs are awaited."""

    _channel: TaskRunner

    async def _run(self, steps: Steps[ResultT]) -> ResultT:
        return await self._channel.run(steps)


class Verb(Generic[P, ResultT]):
    """A method that is written as steps."""

    def __init__(self, steps: Callable[Concatenate[Any, P], Steps[ResultT]]) -> None:
        # What help() and editors show is the result.
        of_steps = str(steps.__annotations__["return"])
        steps.__annotations__["return"] = of_steps.removeprefix("Steps[").removesuffix("]")

        @wraps(steps)
        def call(face: ThreadFace, /, *args: P.args, **named: P.kwargs) -> ResultT:
            return face._run(steps(face, *args, **named))

        @wraps(steps)
        async def call_and_await(face: TaskFace, /, *args: P.args, **named: P.kwargs) -> ResultT:
            return await face._run(steps(face, *args, **named))

        self.__doc__ = steps.__doc__
        self._call, self._call_and_await = call, call_and_await

    @overload
    def __get__(self, face: ThreadFace, kind: type) -> Callable[P, ResultT]: ...
    @overload
    def __get__(self, face: TaskFace, kind: type) -> Callable[P, Coroutine[Any, Any, ResultT]]: ...
    @overload
    def __get__(self, face: None, kind: type) -> Callable[..., Any]: ...
    def __get__(self, face: object, kind: type) -> Callable[..., Any]:
        chosen = self._call_and_await if issubclass(kind, TaskFace) else self._call
        return chosen if face is None else MethodType(chosen, face)
