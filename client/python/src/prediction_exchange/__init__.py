"""A client of prediction-exchange, synchronous (`Exchange`) and asynchronous (`AsyncExchange`)."""

from . import answers
from .amounts import Amount, base_units, whole
from .async_exchange import AsyncExchange
from .books import Book, Level
from .delivery import Clock, Patience
from .errors import BadArgument, ExchangeError, FieldFault, OutcomeUnknown, Refusal, TransportError
from .exchange import Exchange
from .nonces import FileNonces, MemoryNonces, Nonces
from .orders import ALL_MARKETS, Order, Outcome, Side, SignedOrder
from .relaying import UNLIMITED, Relayed
from .signing import Signer
from .watching import Gap

__all__ = [
    "ALL_MARKETS",
    "UNLIMITED",
    "Amount",
    "AsyncExchange",
    "BadArgument",
    "Book",
    "Clock",
    "Exchange",
    "ExchangeError",
    "FieldFault",
    "FileNonces",
    "Gap",
    "Level",
    "MemoryNonces",
    "Nonces",
    "Order",
    "Outcome",
    "OutcomeUnknown",
    "Patience",
    "Refusal",
    "Relayed",
    "Side",
    "SignedOrder",
    "Signer",
    "TransportError",
    "answers",
    "base_units",
    "whole",
]
