"""The whole client without input and output: what both shells carry out."""

from __future__ import annotations

from collections.abc import Sequence

from .books import BookWatch
from .errors import BadArgument
from .orders import Orders
from .reads import Reads
from .relaying import Relaying
from .watching import Watch


class Core(Orders, Relaying, Reads):
    """Every operation as a flow, a list of pages or a watch. `Exchange` and `AsyncExchange` carry them out."""

    def watch(self, channels: Sequence[str], *, start: int | None = None, give_up_after: float | None = None) -> Watch:
        """
        Messages of channels as they come: `book:{marketId}`, `trades:{marketId}`, `orders:{address}`, `prices:{asset}`,
        `markets`. Connects again by itself and goes on where it was; a Gap stands where it is not proven that nothing
        is missing. `start` is the last position that the caller has, -1 for the whole history; without it the stream
        begins now, with a snapshot of each book.
        """
        if isinstance(channels, str) or not channels:
            raise BadArgument("channels are a list of one at least, such as ['markets']")
        return Watch(tuple(channels), start, self.patience, self.clock, give_up_after)

    def book(self, market_id: str, *, give_up_after: float | None = None) -> BookWatch:
        """A market's book at each change. The same object each time: read it before the next one."""
        return BookWatch(market_id, self.watch([f"book:{market_id}"], give_up_after=give_up_after))
