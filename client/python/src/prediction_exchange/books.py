"""A market's book as it is now, kept from the stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .answers import StreamMessage
from .orders import Outcome, Side
from .watching import Gap, Watch


@dataclass(frozen=True)
class Level:
    """A price and the shares there, in base units of 1e-6."""

    price: int
    size: int


@dataclass
class Book:
    """The books of YES and NO of one market. An iterator of books gives the same object, changed."""

    market_id: str
    #: The log position of the last change; None before the snapshot.
    position: int | None = None
    _sizes: dict[tuple[Outcome, Side], dict[int, int]] = field(default_factory=dict, repr=False)

    def bids(self, outcome: Outcome = Outcome.YES) -> list[Level]:
        """The highest price first."""
        return self._levels(outcome, Side.BUY, highest_first=True)

    def asks(self, outcome: Outcome = Outcome.YES) -> list[Level]:
        """The lowest price first."""
        return self._levels(outcome, Side.SELL, highest_first=False)

    def best_bid(self, outcome: Outcome = Outcome.YES) -> Level | None:
        """None without bids."""
        sizes = self._sizes.get((outcome, Side.BUY))
        return Level(max(sizes), sizes[max(sizes)]) if sizes else None

    def best_ask(self, outcome: Outcome = Outcome.YES) -> Level | None:
        """None without asks."""
        sizes = self._sizes.get((outcome, Side.SELL))
        return Level(min(sizes), sizes[min(sizes)]) if sizes else None

    def apply(self, message: Mapping[str, Any]) -> None:
        """Takes a message of the market's channel `book:…`, as they follow each other without a gap."""
        if message["type"] == "snapshot":
            self._sizes = {
                (outcome, side): {level["price"]: level["size"] for level in message[name][key]}
                for outcome, name in ((Outcome.YES, "yes"), (Outcome.NO, "no"))
                for side, key in ((Side.BUY, "bids"), (Side.SELL, "asks"))
            }
        else:
            for level in message["levels"]:
                sizes = self._sizes.setdefault((Outcome(level["outcome"]), Side(level["side"])), {})
                if level["size"] == 0:
                    sizes.pop(level["price"], None)
                else:
                    sizes[level["price"]] = level["size"]
        self.position = message["position"]

    def _levels(self, outcome: Outcome, side: Side, *, highest_first: bool) -> list[Level]:
        sizes = self._sizes.get((outcome, side), {})
        return [Level(price, sizes[price]) for price in sorted(sizes, reverse=highest_first)]


@dataclass
class BookWatch:
    """A watch that keeps a book. After a gap it begins anew, with a snapshot."""

    market_id: str
    watch: Watch
    book: Book = field(init=False)

    def __post_init__(self) -> None:
        self.book = Book(self.market_id)

    def take(self, given: StreamMessage | Gap) -> Book | None:
        """Returns the book once it is right; None where the stream has to be connected anew."""
        if isinstance(given, Gap):
            self.watch.begin_anew()
            return None
        self.book.apply(given)
        return self.book
