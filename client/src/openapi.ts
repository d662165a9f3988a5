/** Generated from /openapi.json by `node tools/run.mjs test/client/write-openapi`: the API's types, with hex as Hex and amounts as bigint. */
/* eslint-disable */
import type { Hex, Outcome, Side } from './vocabulary.js';

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description 32 bytes as hex, upper or lower case. */
        Bytes32Input: Hex;
        /** @description 20 bytes as hex, upper or lower case. */
        AddressInput: Hex;
        /**
         * Format: int32
         * @description 0 = BUY, 1 = SELL.
         * @enum {integer}
         */
        Side: Side;
        /**
         * Format: int32
         * @description 0 = YES, 1 = NO.
         * @enum {integer}
         */
        Outcome: Outcome;
        /** @description The order, field for field as signed. */
        Order: {
            /** @description Market to trade in. */
            marketId: components["schemas"]["Bytes32Input"];
            /** @description Signer and owner of the order. */
            trader: components["schemas"]["AddressInput"];
            side: components["schemas"]["Side"];
            outcome: components["schemas"]["Outcome"];
            /**
             * Format: int32
             * @description Price of one share in collateral, 6 decimals: 1000000 = 1.00.
             */
            price: bigint;
            /** @description Shares, 6 decimals. An integer of 1 to 18446744073709551615 in decimal digits. */
            size: string;
            /** @description Unique among the trader's live orders. An integer of 0 to 18446744073709551615 in decimal digits. */
            nonce: string;
            /** @description Unix seconds, at least 60 ahead of the server. An integer of 0 to 18446744073709551615 in decimal digits. */
            expiration: string;
            /** @description The zero address. */
            makerFeeRecipient: Hex;
        };
        /** @description 65 bytes (r, s, v) as hex, upper or lower case. */
        SignatureInput: Hex;
        /**
         * Format: int32
         * @description Recovery id: 27 or 28.
         * @enum {integer}
         */
        RecoveryId: 27 | 28;
        /** @description ERC-2612 permit, for buying without an approval made before. */
        PermitSignature: {
            /** @description The owner's permit nonce at the stablecoin. An integer of 0 to 18446744073709551615 in decimal digits. */
            nonce: string;
            /** @description Amount to approve, of 0 to 2^256-1. */
            value: string;
            /** @description Unix seconds until which the permit is good. An integer of 0 to 18446744073709551615 in decimal digits. */
            deadline: string;
            v: components["schemas"]["RecoveryId"];
            /** @description Signature component. */
            r: components["schemas"]["Bytes32Input"];
            /** @description Signature component. */
            s: components["schemas"]["Bytes32Input"];
        };
        /** @enum {string} */
        TimeInForce: "GTC" | "FOK" | "FAK";
        /** @enum {string} */
        SelfTrade: "cancel_older" | "cancel_newer";
        CheckOrderRequest: {
            order: components["schemas"]["Order"];
            /** @description EIP-712 signature of the order in the chain's orderDomain: r, s, v. */
            signature?: components["schemas"]["SignatureInput"];
            permitSignature?: components["schemas"]["PermitSignature"];
            /** @description GTC (default): what does not match at once rests. FOK: all of the order matches at once, or it is refused with not_filled and nothing happens. FAK: what does not match at once is cancelled. The order's signature does not cover it. */
            timeInForce?: components["schemas"]["TimeInForce"];
            /** @description The order is refused with would_match if it would match at once. Not with FOK or FAK. The order's signature does not cover it. */
            postOnly?: boolean;
            /** @description Milliseconds since the Unix epoch: later than this, the order is refused with too_late instead of accepted. The order's signature does not cover it. An integer of 0 to 9007199254740991 in decimal digits. */
            notAfter?: string;
            /** @description What happens when the order would match an order of the same trader: cancel_older (default) cancels the resting one, cancel_newer what is left of this one. The order's signature does not cover it. */
            selfTrade?: components["schemas"]["SelfTrade"];
        };
        /** @description 32 bytes as hex, lower case. */
        Bytes32: Hex;
        /**
         * @description The state of the order.
         * @enum {string}
         */
        OrderStatus: "open" | "filled" | "cancelled";
        /**
         * Format: int32
         * @description Price of one share in collateral, 6 decimals: 1000000 = 1.00.
         */
        Price: bigint;
        CheckedMatch: {
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Shares, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            /**
             * Format: uint64
             * @description Stablecoin, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            cost: bigint;
        };
        /**
         * @description The error codes of this version.
         * @enum {string}
         */
        KnownErrorCode: "invalid_request" | "invalid_json" | "invalid_address" | "invalid_market_id" | "invalid_order_hash" | "invalid_chain_id" | "invalid_price" | "invalid_size" | "size_too_small" | "invalid_expiration" | "invalid_signature" | "invalid_permit" | "relay_invalid_body" | "relay_invalid_address" | "relay_invalid_signature" | "relay_unknown_chain" | "relay_wrong_signer" | "relay_deadline_too_far" | "relay_bond_permit_required" | "cancel_signature_required" | "signature_required" | "missing_token" | "invalid_token" | "insufficient_scope" | "invalid_cancel_signature" | "invalid_request_signature" | "not_order_owner" | "trader_suspended" | "other_site" | "relay_target_refused" | "not_found" | "unknown_market" | "unknown_order" | "unknown_chain" | "unknown_asset" | "not_recorded_yet" | "history_removed" | "method_not_allowed" | "market_closed" | "duplicate_nonce" | "nonce_cancelled" | "too_many_open_orders" | "too_late" | "not_filled" | "would_match" | "outdated_request" | "already_cancelled" | "not_reduced" | "already_filled" | "relay_in_vain" | "relay_cover_needed" | "relay_already_used" | "body_too_large" | "unsupported_media_type" | "expectation_failed" | "upgrade_required" | "insufficient_balance" | "insufficient_allowance" | "relay_contract_wallet" | "relay_would_revert" | "relay_owner_paused" | "relay_quota_used" | "too_many_streams" | "rate_limited" | "request_timeout" | "internal" | "trading_halted" | "clock_untrusted" | "disk_full" | "overloaded" | "outcome_unknown" | "not_caught_up" | "chain_unavailable" | "relay_unavailable" | "unavailable";
        /** @enum {string} */
        ErrorCode: "invalid_request" | "invalid_json" | "invalid_address" | "invalid_market_id" | "invalid_order_hash" | "invalid_chain_id" | "invalid_price" | "invalid_size" | "size_too_small" | "invalid_expiration" | "invalid_signature" | "invalid_permit" | "relay_invalid_body" | "relay_invalid_address" | "relay_invalid_signature" | "relay_unknown_chain" | "relay_wrong_signer" | "relay_deadline_too_far" | "relay_bond_permit_required" | "cancel_signature_required" | "signature_required" | "missing_token" | "invalid_token" | "insufficient_scope" | "invalid_cancel_signature" | "invalid_request_signature" | "not_order_owner" | "trader_suspended" | "other_site" | "relay_target_refused" | "not_found" | "unknown_market" | "unknown_order" | "unknown_chain" | "unknown_asset" | "not_recorded_yet" | "history_removed" | "method_not_allowed" | "market_closed" | "duplicate_nonce" | "nonce_cancelled" | "too_many_open_orders" | "too_late" | "not_filled" | "would_match" | "outdated_request" | "already_cancelled" | "not_reduced" | "already_filled" | "relay_in_vain" | "relay_cover_needed" | "relay_already_used" | "body_too_large" | "unsupported_media_type" | "expectation_failed" | "upgrade_required" | "insufficient_balance" | "insufficient_allowance" | "relay_contract_wallet" | "relay_would_revert" | "relay_owner_paused" | "relay_quota_used" | "too_many_streams" | "rate_limited" | "request_timeout" | "internal" | "trading_halted" | "clock_untrusted" | "disk_full" | "overloaded" | "outcome_unknown" | "not_caught_up" | "chain_unavailable" | "relay_unavailable" | "unavailable";
        FieldError: {
            /** @description JSON pointer to the field, or the name of the parameter or header. */
            field: string;
            /** @description What was expected. */
            message: string;
        };
        /** @description An on-chain address, lower case. */
        Address: Hex;
        SigningDomain: {
            name: string;
            version: string;
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            verifyingContract: components["schemas"]["Address"];
        };
        Problem: {
            /** @description Reference to the description of this error. */
            type: string;
            /** @description Short description of the error; the same text for every occurrence. */
            title: string;
            /**
             * Format: int64
             * @description The HTTP status.
             */
            status: number;
            /** @description What is wrong with this request, where `errors` does not say it. */
            detail?: string;
            /** @description The id of this occurrence in the service's log lines. */
            instance?: string;
            /** @description All in one text, for people: the title, and what is wrong with this request. */
            error: string;
            code: components["schemas"]["ErrorCode"];
            /** @description What is wrong with each field. */
            errors?: components["schemas"]["FieldError"][];
            /**
             * Format: uint64
             * @description `insufficient_…`: what the order needs, in stablecoin or shares, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            required?: bigint;
            /**
             * Format: uint64
             * @description `insufficient_…`: what the trader has, or has approved, in total, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            available?: bigint;
            /**
             * Format: uint64
             * @description `insufficient_…`: the part of `available` that other open orders and unsettled fills of the trader need, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            reserved?: bigint;
            /**
             * Format: uint64
             * @description `insufficient_…`: the block at which balance and allowance were read: the last one in the history.
             */
            block?: number;
            /**
             * Format: uint64
             * @description `insufficient_…`: the latest block of the chain.
             */
            latestBlock?: number;
            /**
             * Format: uint64
             * @description `insufficient_…`: `latestBlock` less `block`. What happened in these blocks is not counted yet.
             */
            blocksBehind?: number;
            /** @description `invalid_…signature`, `invalid_permit`: the EIP-712 digest that the signature has to be of. */
            digest?: components["schemas"]["Bytes32"];
            /** @description With `digest`: who has signed it by this signature; null where that is nobody. */
            recoveredSigner?: Hex | null;
            /** @description `invalid_…signature`: the EIP-712 domain of the digest. */
            domain?: components["schemas"]["SigningDomain"];
            /**
             * Format: uint64
             * @description `size_too_small`: the smallest size on the market's chain, 6 decimals.
             */
            minOrderSize?: bigint;
            /**
             * Format: uint64
             * @description `too_many_open_orders`: the number of the trader's open orders, those on their way in included.
             */
            openOrders?: number;
            /**
             * Format: uint64
             * @description `trader_suspended`: when the trader's orders are taken again, in Unix seconds.
             */
            suspendedUntil?: number;
            /**
             * Format: uint64
             * @description `too_many_open_orders`: the most open orders that a trader may have.
             */
            maxOpenOrders?: number;
            /**
             * Format: uint64
             * @description The seconds of the header `Retry-After`, where they are known.
             */
            retryAfterS?: number;
            /** @description `method_not_allowed`: the header `Allow`. */
            allow?: string;
        };
        CheckedOrder: {
            /** @description Whether the order would be accepted, or has been. */
            accepted: boolean;
            orderHash?: components["schemas"]["Bytes32"];
            /** @description Only of an order that was accepted before: its present state. */
            orderStatus?: components["schemas"]["OrderStatus"];
            /** @description What the order would match, by price, the best first. */
            matches?: components["schemas"]["CheckedMatch"][];
            /**
             * Format: uint64
             * @description Shares that match at once, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            filledSize?: bigint;
            /**
             * Format: uint64
             * @description Shares that rest in the book, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            restingSize?: bigint;
            /**
             * Format: uint64
             * @description Shares that are cancelled at once, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            cancelledSize?: bigint;
            /**
             * Format: uint64
             * @description Stablecoin of the matches: paid by a buy, received by a sell, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            cost?: bigint;
            /**
             * Format: uint64
             * @description Of a buy: what its matched shares pay if the outcome wins. Of a sell: what it receives for its matches, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            payout?: bigint;
            /**
             * Format: uint64
             * @description What the order needs until it is settled: stablecoin of a buy, shares of a sell, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            needed?: bigint;
            /**
             * Format: uint64
             * @description Number of the trader's own orders that are cancelled, since they would trade with this one.
             */
            ownOrdersCancelled?: number;
            refusal?: components["schemas"]["Problem"];
        };
        NeededShares: {
            marketId: components["schemas"]["Bytes32"];
            outcome: components["schemas"]["Outcome"];
            /**
             * Format: uint64
             * @description What open orders need, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            neededByOrders: bigint;
            /**
             * Format: uint64
             * @description What fills need that the chain has not settled yet, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            neededByFills: bigint;
        };
        Account: {
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            /**
             * Format: uint64
             * @description Block at whose end balance, allowance and approval were read.
             */
            block: number;
            /**
             * Format: uint64
             * @description Stablecoin of the user, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            balance: bigint;
            /**
             * Format: uint64
             * @description Stablecoin that the settlement contract may take, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            allowance: bigint;
            /** @description Whether the settlement contract may take the user's shares. */
            approved: boolean;
            /**
             * Format: uint64
             * @description What open orders need, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            neededByOrders: bigint;
            /**
             * Format: uint64
             * @description What fills need that the chain has not settled yet, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            neededByFills: bigint;
            /**
             * Format: uint64
             * @description What is left for further buys, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            available: bigint;
            shares: components["schemas"]["NeededShares"][];
            /**
             * Format: uint64
             * @description Number of open orders in all markets of all chains.
             */
            openOrders: number;
            /**
             * Format: uint64
             * @description Until when orders of the user are refused with trader_suspended; null without a ban.
             */
            suspendedUntil: number | null;
        };
        PlannedHalt: {
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            from: number;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            to: number;
            reason: string;
        };
        TradingStatus: {
            /**
             * @description open: orders are taken.
             * @enum {string}
             */
            status: "open" | "paused";
            /** @description The code of the error that an order gets; null while orders are taken. */
            reason: string | null;
            /** @description The same in words. */
            detail: string | null;
            /** @description Times at which no orders are taken, as the operator has planned them: those that are not over, the next one first. */
            plannedHalts: components["schemas"]["PlannedHalt"][];
        };
        PlaceOrderRequest: {
            order: components["schemas"]["Order"];
            /** @description EIP-712 signature of the order in the chain's orderDomain: r, s, v. */
            signature: components["schemas"]["SignatureInput"];
            permitSignature?: components["schemas"]["PermitSignature"];
            /** @description GTC (default): what does not match at once rests. FOK: all of the order matches at once, or it is refused with not_filled and nothing happens. FAK: what does not match at once is cancelled. The order's signature does not cover it. */
            timeInForce?: components["schemas"]["TimeInForce"];
            /** @description The order is refused with would_match if it would match at once. Not with FOK or FAK. The order's signature does not cover it. */
            postOnly?: boolean;
            /** @description Milliseconds since the Unix epoch: later than this, the order is refused with too_late instead of accepted. The order's signature does not cover it. An integer of 0 to 9007199254740991 in decimal digits. */
            notAfter?: string;
            /** @description What happens when the order would match an order of the same trader: cancel_older (default) cancels the resting one, cancel_newer what is left of this one. The order's signature does not cover it. */
            selfTrade?: components["schemas"]["SelfTrade"];
        };
        PlacedOrder: {
            orderHash: components["schemas"]["Bytes32"];
            /** @constant */
            status: "accepted";
            /**
             * Format: uint64
             * @description Number of trades that the order made at once.
             */
            matches: number;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            timestamp: number;
            /** @description Only when the same order was submitted before: the order's present state, as in /api/v1/orders/{hash}. Missing if it is not known at the moment. */
            orderStatus?: components["schemas"]["OrderStatus"];
            /**
             * Format: uint64
             * @description Only for FOK and FAK, and where selfTrade has cancelled the order: shares that were not filled and are cancelled, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize?: bigint;
        };
        PlaceOrdersRequest: {
            orders: components["schemas"]["PlaceOrderRequest"][];
        };
        PlacedOrdersItem: {
            /**
             * Format: uint64
             * @description The HTTP status that a single request would have been answered with.
             */
            status: number;
            /** @description The body of that answer. */
            body: {
                [key: string]: unknown;
            };
        };
        PlacedOrders: {
            /** @description By order, in the order of the request. */
            results: components["schemas"]["PlacedOrdersItem"][];
        };
        CancelOrdersRequest: {
            /** @description Owner of the orders, who signs the request. */
            trader: components["schemas"]["AddressInput"];
            /** @description Orders to cancel. */
            orderHashes: components["schemas"]["Bytes32Input"][];
            /** @description Unix seconds until which the signed request is good. An integer of 0 to 18446744073709551615 in decimal digits. */
            deadline?: string;
            /** @description The trader's EIP-712 signature of the request in the chain's orderDomain: r, s, v. */
            signature?: components["schemas"]["SignatureInput"];
            /**
             * Format: int64
             * @description Chain of the orders; may be left out where there is only one.
             */
            chainId?: number;
        };
        CancelledOrdersItem: {
            /**
             * Format: uint64
             * @description The HTTP status that a single request would have been answered with.
             */
            status: number;
            /** @description The body of that answer. */
            body: {
                [key: string]: unknown;
            };
        };
        CancelledOrders: {
            /** @description By order, in the order of the request. */
            results: components["schemas"]["CancelledOrdersItem"][];
        };
        CancelAllRequest: {
            /** @description Owner of the orders, who signs the request. */
            trader: components["schemas"]["AddressInput"];
            /** @description Market; 32 zero bytes mean all markets of the chain. */
            marketId: components["schemas"]["Bytes32Input"];
            /** @description Unix seconds until which the signed request is good. An integer of 0 to 18446744073709551615 in decimal digits. */
            deadline?: string;
            /** @description The trader's EIP-712 signature of the request in the chain's orderDomain: r, s, v. */
            signature?: components["schemas"]["SignatureInput"];
            /**
             * Format: int64
             * @description Chain of the orders; may be left out where there is only one.
             */
            chainId?: number;
        };
        CancelledAll: {
            /** @constant */
            status: "cancelled";
            trader: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            marketId: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description How many orders were open and are cancelled.
             */
            cancelled: number;
        };
        CancelAfterRequest: {
            /** @description Owner of the orders, who signs the request. */
            trader: components["schemas"]["AddressInput"];
            /**
             * Format: int32
             * @description Seconds from now until the orders are cancelled; 0 disarms.
             */
            seconds: number;
            /** @description Unix seconds until which the signed request is good. An integer of 0 to 18446744073709551615 in decimal digits. */
            deadline?: string;
            /** @description The trader's EIP-712 signature of the request in the chain's orderDomain: r, s, v. */
            signature?: components["schemas"]["SignatureInput"];
            /**
             * Format: int64
             * @description Chain of the orders; may be left out where there is only one.
             */
            chainId?: number;
        };
        Switch: {
            /**
             * @description Whether the orders are going to be cancelled.
             * @enum {string}
             */
            status: "armed" | "disarmed";
            trader: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            /**
             * Format: uint64
             * @description When the orders are cancelled, in milliseconds since the Unix epoch; null if disarmed.
             */
            cancelAt: number | null;
        };
        CancelledOrder: {
            /** @constant */
            status: "cancelled";
            orderHash: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description Shares that were filled before the cancel, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            filledSize: bigint;
            /**
             * Format: uint64
             * @description Shares that were not filled and are now cancelled, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize: bigint;
        };
        ReduceOrderRequest: {
            /** @description New size of the order, its filled part included; 6 decimals. An integer of 1 to 18446744073709551615 in decimal digits. */
            size: string;
            /** @description Unix seconds until which the signed request is good. An integer of 0 to 18446744073709551615 in decimal digits. */
            deadline?: string;
            /** @description The trader's EIP-712 signature of the request in the chain's orderDomain: r, s, v. */
            signature?: components["schemas"]["SignatureInput"];
        };
        ReducedOrder: {
            /**
             * @description Cancelled where at least `size` was filled already.
             * @enum {string}
             */
            status: "reduced" | "cancelled";
            orderHash: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description Size of the order from now on; only when reduced, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size?: bigint;
            /**
             * Format: uint64
             * @description Shares that were filled before the cancel; only when cancelled, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            filledSize?: bigint;
            /**
             * Format: uint64
             * @description Shares that were not filled and are now cancelled; only when cancelled, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize?: bigint;
        };
        SyncPositionRequest: {
            userAddress?: components["schemas"]["AddressInput"];
        };
        SyncedPosition: {
            /**
             * Format: int64
             * @description YES shares, 6 decimals.
             */
            yesShares: bigint;
            /**
             * Format: int64
             * @description NO shares, 6 decimals.
             */
            noShares: bigint;
            /**
             * Format: int64
             * @description Stablecoin invested, 6 decimals.
             */
            totalInvested: bigint;
        };
        PositionSync: {
            success: boolean;
            position: components["schemas"]["SyncedPosition"];
            /** @description What was done. */
            message: string;
        };
        /**
         * @description State of the trade's settlement on the chain.
         * @enum {string}
         */
        SettlementStatus: "matched" | "pending" | "confirmed" | "failed";
        /** @description Hash of the settlement transaction; empty until a transaction is sent. */
        SettlementTxHash: Hex | "";
        OrderHistoryEntry: {
            /**
             * Format: uint64
             * @description Position in the log.
             */
            position: number;
            /**
             * @description What happened to the order.
             * @enum {string}
             */
            type: "accepted" | "fill" | "fill_failed" | "reduced" | "filled" | "cancelled";
            /**
             * Format: uint64
             * @description Shares of this entry; of a reduction, the order's size from then on, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            /**
             * Format: uint64
             * @description Unix seconds; null if the read model does not keep the time.
             */
            timestamp: number | null;
            /**
             * Format: uint64
             * @description Number of the fill.
             */
            fill?: number;
            /**
             * @description Whether the order was the maker or the taker of the fill.
             * @enum {string}
             */
            role?: "maker" | "taker";
            price?: components["schemas"]["Price"];
            settlementStatus?: components["schemas"]["SettlementStatus"];
            txHash?: components["schemas"]["SettlementTxHash"];
            /** @description Why the order was cancelled or the fill failed. */
            reason?: string | null;
        };
        OrderWithHistory: {
            orderHash: components["schemas"]["Bytes32"];
            marketId: components["schemas"]["Bytes32"];
            side: components["schemas"]["Side"];
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Size of the order: as signed, or as reduced since, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            /**
             * Format: uint64
             * @description Unfilled part, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize: bigint;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            timestamp: number;
            trader: components["schemas"]["Address"];
            outcome: components["schemas"]["Outcome"];
            /**
             * Format: uint64
             * @description Filled part, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            filledSize: bigint;
            /**
             * Format: uint64
             * @description uint64.
             */
            nonce: bigint;
            /**
             * Format: uint64
             * @description Unix seconds, uint64.
             */
            expiration: number;
            status: components["schemas"]["OrderStatus"];
            /** @description Why the order was cancelled; null if it was not. */
            cancelReason: string | null;
            /** @description What happened to the order, oldest first; at most the latest 1,000 fills. */
            history: components["schemas"]["OrderHistoryEntry"][];
            /**
             * Format: uint64
             * @description Only of an order that is older than the read models' history: fills that were settled before this log position are not in `history`, but in `filledSize`, and in /api/v1/events.
             */
            historyFrom?: number;
        };
        PriceLevel: {
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Total shares at this price, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
        };
        /** @description The price levels of one outcome. */
        Book: {
            /** @description Highest price first. */
            bids: components["schemas"]["PriceLevel"][];
            /** @description Lowest price first. */
            asks: components["schemas"]["PriceLevel"][];
        };
        Orderbook: {
            marketId: components["schemas"]["Bytes32"];
            /** @description Highest price first. */
            bids: components["schemas"]["PriceLevel"][];
            /** @description Lowest price first. */
            asks: components["schemas"]["PriceLevel"][];
            /**
             * Format: uint64
             * @description Unix seconds; 0 = the market has never had an order.
             */
            lastUpdate: number;
            /** @description Only without `outcome`: the YES book. */
            yes?: components["schemas"]["Book"];
            /** @description Only without `outcome`: the NO book. */
            no?: components["schemas"]["Book"];
        };
        OpenOrder: {
            orderHash: components["schemas"]["Bytes32"];
            marketId: components["schemas"]["Bytes32"];
            side: components["schemas"]["Side"];
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Size of the order: as signed, or as reduced since, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            /**
             * Format: uint64
             * @description Unfilled part, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize: bigint;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            timestamp: number;
        };
        OpenOrders: {
            orders: components["schemas"]["OpenOrder"][];
            /**
             * Format: uint64
             * @description Number of all open orders that match, also those on other pages.
             */
            count: number;
            /**
             * Format: uint64
             * @description Only on a full page. For the next page, send this value as `before`.
             */
            next?: number;
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        Market: {
            id: components["schemas"]["Bytes32"];
            /** @description The market's question. */
            question: string;
            description: string;
            /**
             * @description What the market is about.
             * @enum {string}
             */
            category: "defi" | "protocol" | "stablecoin" | "general";
            contractAddress: components["schemas"]["Address"];
            maker: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            expiration: number;
            /**
             * Format: uint64
             * @description Chain on which the market settles.
             */
            chainId: number;
            resolved: boolean;
            /**
             * Format: int32
             * @description As a price; 0 = no price.
             */
            bestAskPrice: bigint;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            createdAt: number;
            /** @description Condition of the conditional tokens, for splitPosition, mergePositions and redeemPositions; null for a market without a chain. */
            conditionId: Hex | null;
            /** @description ERC-1155 id of the YES shares; null for a market without a chain. */
            yesTokenId: string | null;
            /** @description ERC-1155 id of the NO shares; null for a market without a chain. */
            noTokenId: string | null;
            /**
             * @description Only in a page, and of one market.
             * @enum {string}
             */
            state?: "open" | "expired" | "proposed" | "disputed" | "resolved";
            /**
             * Format: uint64
             * @description Only in a page, and of one market: stablecoin traded since the start, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            totalVolume?: bigint;
        };
        Markets: {
            markets: components["schemas"]["Market"][];
            /**
             * Format: uint64
             * @description Number of entries.
             */
            count: number;
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        /** @description Totals of one chain. With chain_id, this is the whole answer. */
        ChainTotals: {
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            /**
             * Format: uint64
             * @description Stablecoin traded since the start, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            totalVolume: bigint;
            /**
             * Format: uint64
             * @description Number of trades since the start.
             */
            totalTrades: number;
        };
        /** @description The answer without chain_id. */
        PlatformTotals: {
            chains: components["schemas"]["ChainTotals"][];
            /**
             * Format: uint64
             * @description Stablecoin traded since the start, on all chains, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            total_volume: bigint;
            /**
             * Format: uint64
             * @description Number of trades since the start, on all chains.
             */
            total_trades: number;
        };
        MarketStatistics: {
            marketId: components["schemas"]["Bytes32"];
            contractAddress: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Stablecoin traded in the last 24 hours, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            volume24h: bigint;
            /**
             * Format: uint64
             * @description Stablecoin traded since the start, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            totalVolume: bigint;
            /**
             * Format: int32
             * @description As a price; 0 = no price.
             */
            lastPrice: bigint;
        };
        Holder: {
            userAddress: components["schemas"]["Address"];
            /**
             * Format: int64
             * @description YES shares, 6 decimals.
             */
            yesShares: bigint;
            /**
             * Format: int64
             * @description NO shares, 6 decimals.
             */
            noShares: bigint;
        };
        Holders: {
            marketId: components["schemas"]["Bytes32"];
            /** @description Sorted by the size of their positions, largest first. */
            topHolders: components["schemas"]["Holder"][];
            /**
             * Format: uint64
             * @description Number of holders.
             */
            totalHolders: number;
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        MarketActivityEntry: {
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Shares, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            buyer: components["schemas"]["Address"];
            seller: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            timestamp: number;
            txHash: components["schemas"]["SettlementTxHash"];
            settlementStatus: components["schemas"]["SettlementStatus"];
        };
        MarketActivity: {
            marketId: components["schemas"]["Bytes32"];
            activity: components["schemas"]["MarketActivityEntry"][];
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        Trade: {
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Shares, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            buyer: components["schemas"]["Address"];
            seller: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            timestamp: number;
            txHash: components["schemas"]["SettlementTxHash"];
            settlementStatus: components["schemas"]["SettlementStatus"];
            outcome: components["schemas"]["Outcome"];
        };
        Trades: {
            marketId: components["schemas"]["Bytes32"];
            trades: components["schemas"]["Trade"][];
            /**
             * Format: uint64
             * @description Number of entries.
             */
            count: number;
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        Assertion: {
            id: components["schemas"]["Bytes32"];
            proposer: components["schemas"]["Address"];
            /** @description True = YES. */
            proposedOutcome: boolean;
            /** @description Bond in the stablecoin, 6 decimals. */
            bondAmount: string;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            assertionTime: number;
            /**
             * Format: uint64
             * @description End of the dispute window, Unix seconds.
             */
            expirationTime: number;
            /** @description Whether the oracle has decided. */
            settled: boolean;
            /** @description Whether the oracle upheld the assertion; false until `settled`. */
            settlementResolution: boolean;
            disputed: boolean;
        };
        /** @description Only of an expired standard market without an assertion. */
        ProposalTerms: {
            /** @description What a proposal signs as `bond`, and what its permit is of, in units of 1e-6 of the stablecoin: the greater of the market's own bond and the oracle's minimum. At most 10 seconds old; `/users/{address}/nonces` has the present one. */
            bond: string;
            /** @description Why no proposal is taken at present, whatever it says; null if proposals are taken. */
            refusal: string | null;
        };
        Resolution: {
            marketId: components["schemas"]["Bytes32"];
            /** @description Whether the market's expiration has passed. */
            expired: boolean;
            /** @description Whether the market is resolved. */
            resolved: boolean;
            winningOutcome?: components["schemas"]["Outcome"];
            /**
             * @description Only of a resolved market without a winner: each share of either outcome is paid one half.
             * @constant
             */
            halved?: true;
            assertion?: components["schemas"]["Assertion"];
            proposal?: components["schemas"]["ProposalTerms"];
            /**
             * Format: uint64
             * @description Only of an expired market that is neither resolved nor has an assertion: when the administrator may pay it half to half, Unix seconds by the chain's time. Absent where the chain's contracts cannot.
             */
            halvableFrom?: number;
        };
        UserOpenOrder: {
            orderHash: components["schemas"]["Bytes32"];
            marketId: components["schemas"]["Bytes32"];
            side: components["schemas"]["Side"];
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Size of the order: as signed, or as reduced since, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            /**
             * Format: uint64
             * @description Unfilled part, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize: bigint;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            timestamp: number;
            /** @description The market's question. */
            marketQuestion: string;
            outcome: components["schemas"]["Outcome"];
        };
        UserOpenOrders: {
            orders: components["schemas"]["UserOpenOrder"][];
            /**
             * Format: uint64
             * @description Number of all open orders that match, also those on other pages.
             */
            count: number;
            /**
             * Format: uint64
             * @description Only on a full page. For the next page, send this value as `before`.
             */
            next?: number;
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        UserPosition: {
            marketId: components["schemas"]["Bytes32"];
            /** @description The market's question. */
            marketQuestion: string;
            contractAddress: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            expiration: number;
            resolved: boolean;
            /**
             * Format: int64
             * @description YES shares, 6 decimals.
             */
            yesShares: bigint;
            /**
             * Format: int64
             * @description NO shares, 6 decimals.
             */
            noShares: bigint;
            /**
             * Format: int64
             * @description Stablecoin invested, 6 decimals.
             */
            totalInvested: bigint;
        };
        UserPositions: {
            positions: components["schemas"]["UserPosition"][];
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        UserTrade: {
            marketId: components["schemas"]["Bytes32"];
            /** @description The market's question. */
            marketQuestion: string;
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Shares, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            /**
             * @description The side of the user in the trade.
             * @enum {string}
             */
            userRole: "buyer" | "seller";
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            timestamp: number;
            txHash: components["schemas"]["SettlementTxHash"];
            settlementStatus: components["schemas"]["SettlementStatus"];
        };
        Payout: {
            marketId: components["schemas"]["Bytes32"];
            /** @description The market's question. */
            marketQuestion: string;
            /**
             * Format: uint64
             * @description Stablecoin paid out, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            payout: bigint;
            /**
             * Format: int32
             * @description 0 = YES, 1 = NO; null if the chain paid without naming a winner, half to half.
             * @enum {integer|null}
             */
            winningOutcome: 0 | 1 | null;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            timestamp: number;
            txHash: components["schemas"]["Bytes32"];
        };
        UserActivity: {
            activity: components["schemas"]["UserTrade"][];
            settlements: components["schemas"]["Payout"][];
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        /** @description Without a position: only yesShares and noShares, both 0. */
        Position: {
            /**
             * Format: int64
             * @description YES shares, 6 decimals.
             */
            yesShares: bigint;
            /**
             * Format: int64
             * @description NO shares, 6 decimals.
             */
            noShares: bigint;
            /**
             * Format: int64
             * @description Stablecoin invested, 6 decimals.
             */
            totalInvested?: bigint;
            /**
             * Format: int64
             * @description Average-cost basis of the YES shares, 6 decimals.
             */
            yesCost?: bigint;
            /**
             * Format: int64
             * @description Average-cost basis of the NO shares, 6 decimals.
             */
            noCost?: bigint;
        };
        PendingTrade: {
            marketId: components["schemas"]["Bytes32"];
            buyerAddress: components["schemas"]["Address"];
            sellerAddress: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Shares, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            fillSize: bigint;
            fillPrice: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Number of the fill.
             */
            fill: number;
            outcome: components["schemas"]["Outcome"];
            txHash: components["schemas"]["SettlementTxHash"];
            /** @description Time of the match, ISO 8601 in UTC. */
            timestamp: string;
            /** @description Whether the transaction settles several trades. */
            isBatch: boolean;
            /**
             * Format: uint64
             * @description Index of the trade in the transaction's batch, from 0.
             */
            batchIndex: number;
            settlementStatus: components["schemas"]["SettlementStatus"];
        };
        PendingTrades: {
            pendingTrades: components["schemas"]["PendingTrade"][];
            /**
             * Format: uint64
             * @description Number of entries.
             */
            count: number;
            /**
             * Format: uint64
             * @description Only on a full page. For the next page, send this value as `after`.
             */
            next?: number;
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        /**
         * @description Why the chain refused the fill.
         * @enum {string}
         */
        FailureReason: "buyer_insufficient_balance" | "buyer_insufficient_allowance" | "seller_insufficient_shares" | "seller_not_approved" | "order_expired" | "order_cancelled" | "overfill" | "market_resolved" | "invalid_signature" | "transfer_rejected" | "transaction_reverted" | "unknown";
        FailedTrade: {
            marketId: components["schemas"]["Bytes32"];
            buyerAddress: components["schemas"]["Address"];
            sellerAddress: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Shares, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            fillSize: bigint;
            fillPrice: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Number of the fill.
             */
            fill: number;
            outcome: components["schemas"]["Outcome"];
            txHash: components["schemas"]["Bytes32"];
            reason: components["schemas"]["FailureReason"];
            /** @description Time of the failure, ISO 8601 in UTC. */
            timestamp: string;
            /**
             * Format: uint64
             * @description Index of the trade in the transaction's batch, from 0.
             */
            batchIndex: number;
        };
        FailedTrades: {
            failedTrades: components["schemas"]["FailedTrade"][];
            /**
             * Format: uint64
             * @description Number of entries.
             */
            count: number;
            /**
             * Format: uint64
             * @description Only on a full page. For the next page, send this value as `before`.
             */
            next?: number;
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        SettledFill: {
            marketId: components["schemas"]["Bytes32"];
            buyerAddress: components["schemas"]["Address"];
            sellerAddress: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Shares, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            fillSize: bigint;
            fillPrice: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Number of the fill.
             */
            fill: number;
            outcome: components["schemas"]["Outcome"];
            /** @description Time at which the fill was confirmed, failed or, while it is pending, sent, ISO 8601 in UTC. */
            timestamp: string;
            /**
             * Format: uint64
             * @description Index of the trade in the transaction's batch, from 0.
             */
            batchIndex: number;
            /**
             * @description Why the chain refused the fill; null if it did not.
             * @enum {string|null}
             */
            reason: "buyer_insufficient_balance" | "buyer_insufficient_allowance" | "seller_insufficient_shares" | "seller_not_approved" | "order_expired" | "order_cancelled" | "overfill" | "market_resolved" | "invalid_signature" | "transfer_rejected" | "transaction_reverted" | "unknown" | null;
            /** @description Hash of the transaction that now contains the fill, if this one was replaced; else null. */
            replacedBy: Hex | null;
            /**
             * @description The state of the fill.
             * @enum {string}
             */
            status: "pending" | "confirmed" | "failed";
        };
        /** @description The answer for a settlement transaction. */
        Settlement: {
            /** @constant */
            found: true;
            txHash: components["schemas"]["Bytes32"];
            marketId: components["schemas"]["Bytes32"];
            buyerAddress: components["schemas"]["Address"];
            sellerAddress: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Shares, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            fillSize: bigint;
            fillPrice: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Number of the fill.
             */
            fill: number;
            outcome: components["schemas"]["Outcome"];
            /** @description Time at which the fill was confirmed, failed or, while it is pending, sent, ISO 8601 in UTC. */
            timestamp: string;
            /**
             * Format: uint64
             * @description Index of the trade in the transaction's batch, from 0.
             */
            batchIndex: number;
            /**
             * @description Why the chain refused the fill; null if it did not.
             * @enum {string|null}
             */
            reason: "buyer_insufficient_balance" | "buyer_insufficient_allowance" | "seller_insufficient_shares" | "seller_not_approved" | "order_expired" | "order_cancelled" | "overfill" | "market_resolved" | "invalid_signature" | "transfer_rejected" | "transaction_reverted" | "unknown" | null;
            /** @description Hash of the transaction that now contains the fill, if this one was replaced; else null. */
            replacedBy: Hex | null;
            /**
             * @description The state of the fill.
             * @enum {string}
             */
            status: "pending" | "confirmed" | "failed";
            /** @description Whether the transaction settles several trades. */
            isBatch: boolean;
            /** @description All fills of the transaction, in its order. */
            fills: components["schemas"]["SettledFill"][];
        };
        /** @description The answer for any other hash. */
        UnknownSettlement: {
            /** @constant */
            found: false;
        };
        PendingClaim: {
            /** @description Hash of the latest redemption transaction; empty until one is sent. */
            txHash: components["schemas"]["SettlementTxHash"];
            userAddress: components["schemas"]["Address"];
            marketAddress: components["schemas"]["Address"];
            marketId: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description Expected payout in stablecoin, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            payout: bigint;
            /**
             * Format: int32
             * @description 0 = YES, 1 = NO; null for a market paid half to half.
             * @enum {integer|null}
             */
            winningOutcome: 0 | 1 | null;
            /**
             * Format: uint64
             * @description When the relayer took the request, Unix seconds.
             */
            submittedAt: number;
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
        };
        PendingClaims: {
            pendingClaims: components["schemas"]["PendingClaim"][];
            /**
             * Format: uint64
             * @description Number of entries.
             */
            count: number;
            /**
             * Format: uint64
             * @description Only on a full page. For the next page, send this value as `after`.
             */
            next?: number;
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        FailedClaim: {
            /** @description Hash of the redemption transaction; empty if none was sent. */
            txHash: components["schemas"]["SettlementTxHash"];
            userAddress: components["schemas"]["Address"];
            marketAddress: components["schemas"]["Address"];
            marketId: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description Expected payout in stablecoin, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            payout: bigint;
            /**
             * Format: int32
             * @description 0 = YES, 1 = NO; null for a market paid half to half.
             * @enum {integer|null}
             */
            winningOutcome: 0 | 1 | null;
            /**
             * Format: uint64
             * @description When the relayer took the request, Unix seconds.
             */
            submittedAt: number;
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            /** @description Why the redemption failed; null if nothing is known. */
            reason: string | null;
            /**
             * Format: uint64
             * @description Time of the failure, Unix seconds.
             */
            failedAt: number;
        };
        FailedClaims: {
            failedClaims: components["schemas"]["FailedClaim"][];
            /**
             * Format: uint64
             * @description Number of entries.
             */
            count: number;
            /**
             * Format: uint64
             * @description Only on a full page. For the next page, send this value as `before`.
             */
            next?: number;
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        /** @description The outcome as recorded. */
        RecordedOutcome: {
            /**
             * Format: uint64
             * @description Engine time in milliseconds.
             */
            at: number;
            /** @description All events that the command caused, in order. */
            events: {
                [key: string]: unknown;
            }[];
        };
        HistoryEntry: {
            /**
             * Format: uint64
             * @description Position in the log.
             */
            position: number;
            /** @description The UUID of the command. */
            id: string;
            /** @description The command as recorded. */
            command: {
                [key: string]: unknown;
            };
            outcome: components["schemas"]["RecordedOutcome"];
            /** @description SHA-256 hash chain over the whole history up to and including this entry. */
            digest: components["schemas"]["Bytes32"];
        };
        HistoryPage: {
            events: components["schemas"]["HistoryEntry"][];
            /**
             * Format: uint64
             * @description Number of entries.
             */
            count: number;
            /**
             * Format: uint64
             * @description For the next page, send this value as `from`.
             */
            next: number;
        };
        /** @description Asset, such as BTC or ETH. */
        Asset: string;
        QuickMarket: {
            /**
             * Format: uint64
             * @description Number of the quick market, in the order of opening.
             */
            id: number;
            marketId: components["schemas"]["Bytes32"];
            asset: components["schemas"]["Asset"];
            /** @description From start to end; not whole only for test intervals. */
            intervalMinutes: number;
            /**
             * Format: uint64
             * @description The strike: the asset's price at the start. null until it is set, some seconds after the start.
             */
            startPrice: bigint | null;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            startTime: number;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            endTime: number;
            /** @description Whether the outcome is known, or the chain has paid half to half. */
            resolved: boolean;
            /** @description Name of the source of `startPrice`; empty until that is set. */
            priceSource: string;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            createdAt: number;
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            contractAddress: components["schemas"]["Address"];
            /** @description True when no source had a price in the 15 seconds that count. Such a market is not decided by another price; if none is found, the chain pays it half to half. */
            priceMissed: boolean;
        };
        ActiveQuickMarket: {
            active: boolean;
            asset: components["schemas"]["Asset"];
            /** @description null when none runs. */
            quickMarket: components["schemas"]["QuickMarket"] | null;
            /**
             * Format: int32
             * @description As a price; 0 = no price.
             */
            bestAskPrice: bigint;
        };
        PastQuickMarket: {
            /**
             * Format: uint64
             * @description Number of the quick market, in the order of opening.
             */
            id: number;
            marketId: components["schemas"]["Bytes32"];
            asset: components["schemas"]["Asset"];
            /** @description From start to end; not whole only for test intervals. */
            intervalMinutes: number;
            /**
             * Format: uint64
             * @description The strike: the asset's price at the start. null until it is set, some seconds after the start.
             */
            startPrice: bigint | null;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            startTime: number;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            endTime: number;
            /** @description Whether the outcome is known, or the chain has paid half to half. */
            resolved: boolean;
            /** @description Name of the source of `startPrice`; empty until that is set. */
            priceSource: string;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            createdAt: number;
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            contractAddress: components["schemas"]["Address"];
            /** @description True when no source had a price in the 15 seconds that count. Such a market is not decided by another price; if none is found, the chain pays it half to half. */
            priceMissed: boolean;
            /**
             * Format: uint64
             * @description The asset's price at the end; null until it is set.
             */
            endPrice: bigint | null;
            /**
             * Format: int32
             * @description 0 = YES: the end price is not below the start price; 1 = NO. null until it is known, and for a market paid half to half.
             * @enum {integer|null}
             */
            outcome: 0 | 1 | null;
            /**
             * @description Whose shares the chain redeems: nobody's before the market is resolved there; `half`: each share for one half.
             * @enum {string}
             */
            payment: "none" | "yes" | "no" | "half";
        };
        QuickMarketHistory: {
            asset: components["schemas"]["Asset"];
            history: components["schemas"]["PastQuickMarket"][];
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        /**
         * Format: uint64
         * @description Price of the asset in units of 1e-8 US dollars. An exact integer, which may be beyond 2^53.
         */
        AssetPrice: bigint;
        PriceRecord: {
            price: components["schemas"]["AssetPrice"];
            /** @description The same in US dollars. */
            priceUSD: number;
            /**
             * Format: uint64
             * @description When the source published the price, Unix seconds.
             */
            timestamp: number;
            /** @description URL of the provider; `simulated:` for simulated prices. */
            source: string;
        };
        PriceHistory: {
            asset: components["schemas"]["Asset"];
            history: components["schemas"]["PriceRecord"][];
        };
        PriceEvent: {
            asset: components["schemas"]["Asset"];
            price: components["schemas"]["AssetPrice"];
            /** @description The same in US dollars. */
            priceUSD: number;
            /**
             * Format: uint64
             * @description When the source published the price, Unix milliseconds.
             */
            timestamp: number;
            /** @description Name of the source: pyth, coinbase, binance or simulated. */
            source: string;
        };
        Candle: {
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            start: number;
            open: components["schemas"]["Price"];
            high: components["schemas"]["Price"];
            low: components["schemas"]["Price"];
            close: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Stablecoin traded, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            volume: bigint;
            /**
             * Format: uint64
             * @description Number of trades.
             */
            trades: number;
            /** @description Whether the candle is final: its time is over, and all of its trades are settled. */
            closed: boolean;
        };
        Candles: {
            marketId: components["schemas"]["Bytes32"];
            outcome: components["schemas"]["Outcome"];
            /** @description As in the request. */
            interval: string;
            candles: components["schemas"]["Candle"][];
            /**
             * Format: uint64
             * @description Number of entries.
             */
            count: number;
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        PriceCandle: {
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            start: number;
            open: components["schemas"]["AssetPrice"];
            high: components["schemas"]["AssetPrice"];
            low: components["schemas"]["AssetPrice"];
            close: components["schemas"]["AssetPrice"];
            /**
             * Format: uint64
             * @description Always 0.
             */
            volume: bigint;
            /**
             * Format: uint64
             * @description Always 0.
             */
            trades: number;
            /**
             * Format: uint64
             * @description Number of prices.
             */
            prices: number;
            /** @description Whether the candle is final: a later one has begun. */
            closed: boolean;
        };
        PriceCandles: {
            asset: components["schemas"]["Asset"];
            /** @description As in the request. */
            interval: string;
            candles: components["schemas"]["PriceCandle"][];
            /**
             * Format: uint64
             * @description Number of entries.
             */
            count: number;
            /** @description Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty. */
            nextCursor?: string;
        };
        OutcomeTicker: {
            /**
             * Format: int32
             * @description As a price; 0 = no price.
             */
            bestBid: bigint;
            /**
             * Format: int32
             * @description As a price; 0 = no price.
             */
            bestAsk: bigint;
            /**
             * Format: int32
             * @description Half of the sum of both, rounded down; 0 without a bid or an ask.
             */
            mid: bigint;
            /**
             * Format: int32
             * @description Ask less bid; 0 without a bid or an ask.
             */
            spread: bigint;
            /**
             * Format: int32
             * @description As a price; 0 = no price.
             */
            lastPrice: bigint;
            /**
             * Format: int64
             * @description Last price less the price a day ago, to the minute; of an outcome without a trade then, less its first price.
             */
            change24h: bigint;
            /**
             * Format: uint64
             * @description Stablecoin traded in the last 24 hours, to the minute, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            volume24h: bigint;
        };
        Ticker: {
            marketId: components["schemas"]["Bytes32"];
            yes: components["schemas"]["OutcomeTicker"];
            no: components["schemas"]["OutcomeTicker"];
        };
        BookSnapshot: {
            /** @description `book:{marketId}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description The books; what comes after changes them.
             * @constant
             */
            type: "snapshot";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            /** @description The book of YES. */
            yes: components["schemas"]["Book"];
            /** @description The book of NO. */
            no: components["schemas"]["Book"];
        };
        /** @description A level of a book. */
        ChangedLevel: {
            outcome: components["schemas"]["Outcome"];
            side: components["schemas"]["Side"];
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Total shares at this price from now on; 0 removes the level, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
        };
        BookChange: {
            /** @description `book:{marketId}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description Levels with other sizes.
             * @constant
             */
            type: "change";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            levels: components["schemas"]["ChangedLevel"][];
        };
        TradeMade: {
            /** @description `trades:{marketId}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description A fill.
             * @constant
             */
            type: "trade";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            /**
             * Format: uint64
             * @description The fill's number.
             */
            fill: number;
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Shares, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            outcome: components["schemas"]["Outcome"];
            buyer: components["schemas"]["Address"];
            seller: components["schemas"]["Address"];
            takerSide: components["schemas"]["Side"];
        };
        /**
         * @description State of the trade's settlement on the chain.
         * @enum {string}
         */
        TradeSettlementStatus: "pending" | "confirmed" | "failed";
        TradeSettlement: {
            /** @description `trades:{marketId}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description What became of a fill on the chain. A failed one never happened.
             * @constant
             */
            type: "settlement";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            /**
             * Format: uint64
             * @description The fill's number.
             */
            fill: number;
            settlementStatus: components["schemas"]["TradeSettlementStatus"];
            /** @description The settlement transaction. */
            txHash: components["schemas"]["Bytes32"];
            reason?: components["schemas"]["FailureReason"];
        };
        OwnOrderAccepted: {
            /** @description `orders:{address}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description The order was accepted.
             * @constant
             */
            type: "accepted";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            orderHash: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize: bigint;
            marketId: components["schemas"]["Bytes32"];
            side: components["schemas"]["Side"];
            outcome: components["schemas"]["Outcome"];
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Size, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            /**
             * Format: uint64
             * @description Nonce.
             */
            nonce: bigint;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            expiration: number;
        };
        /**
         * @description The order's part in the fill.
         * @enum {string}
         */
        FillRole: "maker" | "taker";
        OwnOrderFilled: {
            /** @description `orders:{address}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description A part of the order, or all of it, was matched.
             * @constant
             */
            type: "filled";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            orderHash: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize: bigint;
            /**
             * Format: uint64
             * @description The fill's number.
             */
            fill: number;
            role: components["schemas"]["FillRole"];
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Shares of the fill, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
        };
        OwnOrderSettled: {
            /** @description `orders:{address}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description A fill of the order was settled on the chain.
             * @constant
             */
            type: "settled";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            orderHash: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize: bigint;
            /**
             * Format: uint64
             * @description The fill's number.
             */
            fill: number;
            role: components["schemas"]["FillRole"];
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Shares of the fill, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            /** @description The settlement transaction. */
            txHash: components["schemas"]["Bytes32"];
        };
        OwnOrderFailed: {
            /** @description `orders:{address}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description A fill of the order failed on the chain: the order has its size back, and is open only if that is told.
             * @constant
             */
            type: "failed";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            orderHash: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize: bigint;
            /**
             * Format: uint64
             * @description The fill's number.
             */
            fill: number;
            role: components["schemas"]["FillRole"];
            price: components["schemas"]["Price"];
            /**
             * Format: uint64
             * @description Shares of the fill, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
            /** @description The settlement transaction. */
            txHash: components["schemas"]["Bytes32"];
            reason: components["schemas"]["FailureReason"];
        };
        OwnOrderReinstated: {
            /** @description `orders:{address}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description The order is open again with the size of a fill that failed.
             * @constant
             */
            type: "reinstated";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            orderHash: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize: bigint;
            /**
             * Format: uint64
             * @description Size of the failed fill, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
        };
        OwnOrderReduced: {
            /** @description `orders:{address}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description The order was made smaller.
             * @constant
             */
            type: "reduced";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            orderHash: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize: bigint;
            /**
             * Format: uint64
             * @description The order's size from now on, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            size: bigint;
        };
        /**
         * @description Why the order was cancelled.
         * @enum {string}
         */
        OrderCancelReason: "user" | "expired" | "self_trade" | "match_limit" | "market_closed" | "settlement_failed" | "time_in_force" | "post_only" | "cancel_after";
        OwnOrderCancelled: {
            /** @description `orders:{address}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description The order was cancelled.
             * @constant
             */
            type: "cancelled";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            orderHash: components["schemas"]["Bytes32"];
            /**
             * Format: uint64
             * @description Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
             */
            remainingSize: bigint;
            reason: components["schemas"]["OrderCancelReason"];
        };
        PriceTold: {
            /** @description `prices:{asset}`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description A price was published.
             * @constant
             */
            type: "price";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            asset: components["schemas"]["Asset"];
            /**
             * Format: uint64
             * @description In units of 1e-8 US dollars. An exact integer, which may be beyond 2^53.
             */
            price: bigint;
            /** @description The same in US dollars. */
            priceUSD: number;
            /**
             * Format: uint64
             * @description When the source published the price, Unix milliseconds.
             */
            timestamp: number;
            /** @description Name of the source. */
            source: string;
        };
        /** @enum {string} */
        MarketCategory: "defi" | "protocol" | "stablecoin" | "general";
        /** @enum {string} */
        MarketKind: "standard" | "quick";
        MarketTold: {
            /** @description `markets`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description The market takes orders.
             * @constant
             */
            type: "opened";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            marketId: components["schemas"]["Bytes32"];
            /** @description The market's question. */
            question: string;
            category: components["schemas"]["MarketCategory"];
            contractAddress: components["schemas"]["Address"];
            maker: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            expiration: number;
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            kind: components["schemas"]["MarketKind"];
            asset?: components["schemas"]["Asset"];
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            startTime?: number;
        };
        MarketExpired: {
            /** @description `markets`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description The market takes no more orders: it has expired, or is resolved.
             * @constant
             */
            type: "expired";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            marketId: components["schemas"]["Bytes32"];
        };
        MarketProposed: {
            /** @description `markets`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description An outcome was asserted.
             * @constant
             */
            type: "proposed";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            marketId: components["schemas"]["Bytes32"];
            assertionId: components["schemas"]["Bytes32"];
            proposer: components["schemas"]["Address"];
            proposedOutcome: components["schemas"]["Outcome"];
            /** @description Bond in stablecoin, 6 decimals. */
            bondAmount: string;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            assertionTime: number;
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            expirationTime: number;
        };
        MarketDisputed: {
            /** @description `markets`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description The assertion was disputed.
             * @constant
             */
            type: "disputed";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            marketId: components["schemas"]["Bytes32"];
            assertionId: components["schemas"]["Bytes32"];
            disputer: components["schemas"]["Address"];
        };
        MarketRejected: {
            /** @description `markets`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description The assertion counts no more; another one may follow.
             * @constant
             */
            type: "rejected";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            marketId: components["schemas"]["Bytes32"];
            assertionId: components["schemas"]["Bytes32"];
        };
        MarketResolvedTold: {
            /** @description `markets`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description The market has its final outcome.
             * @constant
             */
            type: "resolved";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            marketId: components["schemas"]["Bytes32"];
            winningOutcome: components["schemas"]["Outcome"];
        };
        MarketHalvedTold: {
            /** @description `markets`, hex in lower case. */
            channel: string;
            /**
             * Format: int64
             * @description The log position. A snapshot has that of the last message before it; -1 if there is none.
             */
            position: number;
            /**
             * Format: int64
             * @description The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
             */
            previous: number;
            /**
             * @description Each share of either outcome is paid one half.
             * @constant
             */
            type: "halved";
            /**
             * Format: uint64
             * @description Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
             */
            at: number;
            /**
             * @description Another message at this position, or another snapshot, follows on the connection.
             * @constant
             */
            more?: true;
            marketId: components["schemas"]["Bytes32"];
        };
        StreamError: {
            /**
             * @description The stream ends, or by WebSocket: what was asked for was not done.
             * @constant
             */
            type: "error";
            /** @description Name of the error. */
            code: string;
            /** @description What is wrong, and what to do. */
            error: string;
        };
        RelayApprovalRequest: {
            /**
             * Format: int64
             * @description Chain identifier.
             */
            chainId: number;
            /** @description Who has signed, and whose tokens are meant. */
            owner: components["schemas"]["AddressInput"];
            /** @description The settlement contract. */
            operator: components["schemas"]["AddressInput"];
            /** @description True approves, false revokes. */
            approved: boolean;
            /** @description Unix seconds until which the signature counts. */
            deadline: string;
            v: components["schemas"]["RecoveryId"];
            /** @description 32 bytes as hex, 66 characters. */
            r: components["schemas"]["Bytes32Input"];
            /** @description 32 bytes as hex, 66 characters. */
            s: components["schemas"]["Bytes32Input"];
        };
        Relayed: {
            /** @constant */
            success: true;
            /** @description Hash of the transaction; empty when nothing needed to be sent. */
            tx_hash: components["schemas"]["SettlementTxHash"];
        };
        RelayerError: {
            /** @constant */
            success: false;
            /** @description What is wrong with the request, or why it could not be carried out. */
            error: string;
        };
        RelayPermitRequest: {
            /**
             * Format: int64
             * @description Chain identifier.
             */
            chainId: number;
            /** @description Who has signed, and whose tokens are meant. */
            owner: components["schemas"]["AddressInput"];
            /** @description The settlement contract, the conditional tokens or the oracle resolver. */
            spender: components["schemas"]["AddressInput"];
            /** @description Amount; 2^256-1 means unlimited. */
            value: string;
            /** @description Unix seconds until which the signature counts. */
            deadline: string;
            v: components["schemas"]["RecoveryId"];
            /** @description 32 bytes as hex, 66 characters. */
            r: components["schemas"]["Bytes32Input"];
            /** @description 32 bytes as hex, 66 characters. */
            s: components["schemas"]["Bytes32Input"];
        };
        RelayRedemptionRequest: {
            /**
             * Format: int64
             * @description Chain identifier.
             */
            chainId: number;
            /** @description Who has signed, and whose tokens are meant. */
            owner: components["schemas"]["AddressInput"];
            /** @description The stablecoin contract. */
            collateralToken: components["schemas"]["AddressInput"];
            /** @description Zero: positions do not nest. */
            parentCollectionId: components["schemas"]["Bytes32Input"];
            /** @description The condition: the market's id. */
            conditionId: components["schemas"]["Bytes32Input"];
            /** @description The outcomes whose shares are redeemed: "1" is YES, "2" is NO. */
            indexSets: string[];
            /** @description Unix seconds until which the signature counts. */
            deadline: string;
            v: components["schemas"]["RecoveryId"];
            /** @description 32 bytes as hex, 66 characters. */
            r: components["schemas"]["Bytes32Input"];
            /** @description 32 bytes as hex, 66 characters. */
            s: components["schemas"]["Bytes32Input"];
            /** @description The market's contract. */
            marketAddress?: components["schemas"]["AddressInput"];
        };
        Redemption: {
            /** @description The market's contract. */
            marketAddress: components["schemas"]["AddressInput"];
            /** @description The stablecoin contract. */
            collateralToken: components["schemas"]["AddressInput"];
            /** @description Zero: positions do not nest. */
            parentCollectionId: components["schemas"]["Bytes32Input"];
            /** @description The condition: the market's id. */
            conditionId: components["schemas"]["Bytes32Input"];
            /** @description The outcomes whose shares are redeemed: "1" is YES, "2" is NO. */
            indexSets: string[];
            /** @description Unix seconds until which the signature counts. */
            deadline: string;
            v: components["schemas"]["RecoveryId"];
            /** @description 32 bytes as hex, 66 characters. */
            r: components["schemas"]["Bytes32Input"];
            /** @description 32 bytes as hex, 66 characters. */
            s: components["schemas"]["Bytes32Input"];
        };
        RelayBatchRedemptionRequest: {
            /**
             * Format: int64
             * @description Chain identifier.
             */
            chainId: number;
            /** @description Who has signed, and whose tokens are meant. */
            owner: components["schemas"]["AddressInput"];
            /** @description At most 20, each signed as for ctf-redemption. */
            redemptions: components["schemas"]["Redemption"][];
        };
        RelayedBatch: {
            /** @constant */
            success: true;
            /** @description Hash of the transaction. */
            txHash: components["schemas"]["SettlementTxHash"];
            /**
             * @description Whether the transaction is final and the history has it.
             * @enum {string}
             */
            status: "pending" | "confirmed";
        };
        RelayProposalRequest: {
            /**
             * Format: int64
             * @description Chain identifier.
             */
            chainId: number;
            /** @description The market's contract. */
            marketAddress: components["schemas"]["AddressInput"];
            /** @description Who has signed and posts the bond. */
            proposer: components["schemas"]["AddressInput"];
            /** @description True is YES, false NO. */
            outcome: boolean;
            /** @description Unix seconds until which the signature counts. */
            deadline: string;
            v: components["schemas"]["RecoveryId"];
            /** @description 32 bytes as hex, 66 characters. */
            r: components["schemas"]["Bytes32Input"];
            /** @description 32 bytes as hex, 66 characters. */
            s: components["schemas"]["Bytes32Input"];
            /** @description Of the bond's permit. The four bond fields are given together; required on a mainnet. */
            bondPermitDeadline?: string;
            bondV?: components["schemas"]["RecoveryId"];
            /** @description 32 bytes as hex, 66 characters. */
            bondR?: components["schemas"]["Bytes32Input"];
            /** @description 32 bytes as hex, 66 characters. */
            bondS?: components["schemas"]["Bytes32Input"];
        };
        RelaySettlementRequest: {
            /**
             * Format: int64
             * @description Chain identifier.
             */
            chainId: number;
            /** @description The market's contract. */
            marketAddress: components["schemas"]["AddressInput"];
            /** @description Who has signed. */
            settler: components["schemas"]["AddressInput"];
            /** @description Unix seconds until which the signature counts. */
            deadline: string;
            v: components["schemas"]["RecoveryId"];
            /** @description 32 bytes as hex, 66 characters. */
            r: components["schemas"]["Bytes32Input"];
            /** @description 32 bytes as hex, 66 characters. */
            s: components["schemas"]["Bytes32Input"];
            winningOutcome: components["schemas"]["Outcome"];
        };
        RelaySplitRequest: {
            /**
             * Format: int64
             * @description Chain identifier.
             */
            chainId: number;
            /** @description Who has signed, and whose tokens are meant. */
            owner: components["schemas"]["AddressInput"];
            /** @description The stablecoin contract. */
            collateralToken: components["schemas"]["AddressInput"];
            /** @description The condition: the market's id. */
            conditionId: components["schemas"]["Bytes32Input"];
            /** @description Complete sets, 6 decimals. */
            amount: string;
            /** @description Unix seconds until which the signature counts. */
            deadline: string;
            v: components["schemas"]["RecoveryId"];
            /** @description 32 bytes as hex, 66 characters. */
            r: components["schemas"]["Bytes32Input"];
            /** @description 32 bytes as hex, 66 characters. */
            s: components["schemas"]["Bytes32Input"];
        };
        RelayMergeRequest: {
            /**
             * Format: int64
             * @description Chain identifier.
             */
            chainId: number;
            /** @description Who has signed, and whose tokens are meant. */
            owner: components["schemas"]["AddressInput"];
            /** @description The stablecoin contract. */
            collateralToken: components["schemas"]["AddressInput"];
            /** @description The condition: the market's id. */
            conditionId: components["schemas"]["Bytes32Input"];
            /** @description Complete sets, 6 decimals. */
            amount: string;
            /** @description Unix seconds until which the signature counts. */
            deadline: string;
            v: components["schemas"]["RecoveryId"];
            /** @description 32 bytes as hex, 66 characters. */
            r: components["schemas"]["Bytes32Input"];
            /** @description 32 bytes as hex, 66 characters. */
            s: components["schemas"]["Bytes32Input"];
        };
        MarketNonces: {
            marketId: components["schemas"]["Bytes32"];
            contractAddress: components["schemas"]["Address"];
            /** @description What a proposal signs as `bond`, in units of 1e-6, in decimal digits: the bond of the proposal that is there, else the greater of the market's own bond and the oracle's minimum at present. */
            bond: string;
            /** @description Of redemptions. */
            condition: string;
            /** @description Of proposals and settlements. */
            market: string;
        };
        UserNonces: {
            address: components["schemas"]["Address"];
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            /** @description Of approvals, splits and merges. */
            owner: string;
            /** @description Of ERC-2612 permits. */
            token: string;
            markets: components["schemas"]["MarketNonces"][];
        };
        Contracts: {
            /** @description Settlement; null if there is no such contract. */
            settlement: Hex | null;
            /** @description Conditional tokens; null if there is no such contract. */
            conditionalTokens: Hex | null;
            /** @description Stablecoin; null if there is no such contract. */
            collateral: Hex | null;
            /** @description Market factory; null if there is no such contract. */
            marketFactory: Hex | null;
            /** @description Optimistic oracle; null if there is no such contract. */
            oracle: Hex | null;
            /** @description Oracle resolver; null if there is no such contract. */
            oracleResolver: Hex | null;
            /** @description Quick resolver; null if there is no such contract. */
            quickResolver: Hex | null;
            /** @description Multicall; null if there is no such contract. */
            multicall: Hex | null;
        };
        Collateral: {
            /** @description Name in the permit's EIP-712 domain. */
            name: string;
            /** @description Version in the permit's EIP-712 domain. */
            version: string;
            symbol: string;
            /**
             * Format: uint64
             * @description Decimals of the token.
             */
            decimals: number;
            address: components["schemas"]["Address"];
        };
        TypedDataField: {
            name: string;
            type: string;
        };
        /** @description What the message's nonce is. */
        NonceSource: {
            kind: string;
            /** @description The contract that gives the next nonce; null if none does. */
            contract: Hex | null;
            /** @description The view that gives the next nonce; null if there is none. */
            call: string | null;
            meaning: string;
        };
        SignedAction: {
            primaryType: string;
            /** @description EIP-712 domain; null until the stablecoin has been read. */
            domain: components["schemas"]["SigningDomain"] | null;
            /** @description EIP-712 types, as `signTypedData` of wallets takes them. */
            types: {
                [key: string]: components["schemas"]["TypedDataField"][];
            };
            nonce: components["schemas"]["NonceSource"];
        };
        /** @description Every message that users sign, by the name of the relayer's endpoint, or for what it is: domain, types and nonce. A batch item is signed as `ctf-redemption`. Without a chain, only those about orders. */
        SignedActions: {
            order: components["schemas"]["SignedAction"];
            cancel: components["schemas"]["SignedAction"];
            "cancel-orders": components["schemas"]["SignedAction"];
            "cancel-all": components["schemas"]["SignedAction"];
            "cancel-after": components["schemas"]["SignedAction"];
            reduce: components["schemas"]["SignedAction"];
            "ctf-approval"?: components["schemas"]["SignedAction"];
            "usdc-permit"?: components["schemas"]["SignedAction"];
            "ctf-redemption"?: components["schemas"]["SignedAction"];
            "ctf-split"?: components["schemas"]["SignedAction"];
            "ctf-merge"?: components["schemas"]["SignedAction"];
            "propose-resolution"?: components["schemas"]["SignedAction"];
            "bond-permit"?: components["schemas"]["SignedAction"];
            "settle-market"?: components["schemas"]["SignedAction"];
        };
        RelayerSettings: {
            address: components["schemas"]["Address"];
            /** @description Names of the endpoints below /api/v1/relayer/. */
            actions: string[];
        };
        Chain: {
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            name: string;
            testnet: boolean;
            /** @description JSON-RPC of a development chain; null for other chains. */
            rpcUrl: string | null;
            contracts: components["schemas"]["Contracts"];
            /** @description The stablecoin, with what a wallet needs to sign permits; null if there is no chain or the stablecoin has not been read yet. */
            collateral: components["schemas"]["Collateral"] | null;
            /**
             * Format: uint64
             * @description Number of blocks on top of a block that make the block final.
             */
            confirmations: number;
            /**
             * Format: uint64
             * @description The first block that is read for events of the contracts.
             */
            startBlock: number;
            /** @description Whether an order is checked against its trader's balance and allowance before it is accepted. If not, an order that its trader cannot pay for is accepted, and its trades fail on the chain. */
            exposureCheck: boolean;
            /**
             * Format: uint64
             * @description Smallest size of an order in the chain's markets, 6 decimals.
             */
            minOrderSize: bigint;
            /** @description Transactions that anchor another history and were passed over by the operator's decision, since a leaked key sent them. The history has an AnchorPassedOver event for each. */
            passOverAnchors: components["schemas"]["Bytes32"][];
            /** @description Transactions that settled or refused other fills than the exchange matched, by the operator's decision: a leaked key sent them. The history has a FillFailed event for each such fill, with the reason `unknown` and the culprit `both`. */
            passOverFills: components["schemas"]["Bytes32"][];
            /** @description EIP-712 domain of orders, and of requests about them. */
            orderDomain: components["schemas"]["SigningDomain"];
            signedActions: components["schemas"]["SignedActions"];
            /** @description Who sends relayed transactions; null if nothing is relayed on the chain. */
            relayer: components["schemas"]["RelayerSettings"] | null;
            /** @description Who creates and resolves quick markets; null if the chain has none. */
            quickOperator: Hex | null;
        };
        /** @description EIP-712 types of orders, as `signTypedData` of wallets takes them; `signedActions` has those of all other messages. */
        OrderTypes: {
            Order: components["schemas"]["TypedDataField"][];
        };
        PriceSettings: {
            /** @description Assets that have prices, and quick markets on the chains with a quickOperator. */
            assets: components["schemas"]["Asset"][];
            /** @description Where prices come from, the best first; empty: nowhere, so no quick market is made. */
            sources: ("pyth" | "coinbase" | "binance" | "simulated")[];
        };
        QuickMarketSettings: {
            /**
             * Format: uint64
             * @description Length of a quick market, in seconds. Quick markets start at its multiples since the Unix epoch.
             */
            intervalS: number;
            /**
             * Format: uint64
             * @description How many quick markets of each asset are made ahead of the one that runs.
             */
            ahead: number;
        };
        /** @description All limits by name; a name of a time or a size ends with its unit. */
        Limits: {
            /**
             * Format: uint64
             * @description Lowest price of an order, 6 decimals.
             */
            minPrice: bigint;
            /**
             * Format: uint64
             * @description Highest price of an order, 6 decimals.
             */
            maxPrice: bigint;
            /**
             * Format: uint64
             * @description How far ahead an order's expiration must be at least.
             */
            minExpirationS: number;
            /**
             * Format: uint64
             * @description Largest body of a request.
             */
            maxBodyBytes: number;
            /**
             * Format: uint64
             * @description Most open orders of one trader, in all markets together.
             */
            maxOpenOrders: number;
            /**
             * Format: uint64
             * @description Most matches of an incoming order. What remains is cancelled.
             */
            maxFillsPerOrder: number;
            /**
             * Format: uint64
             * @description Most open orders in an answer.
             */
            maxOrdersPerPage: number;
            /**
             * Format: uint64
             * @description Most holders in an answer.
             */
            maxHolders: number;
            /**
             * Format: uint64
             * @description Most trades in a market's activity.
             */
            maxActivity: number;
            /**
             * Format: uint64
             * @description Most trades in a market's trade history.
             */
            maxTrades: number;
            /**
             * Format: uint64
             * @description Most entries in each list of a user's activity.
             */
            maxUserActivity: number;
            /**
             * Format: uint64
             * @description Most pending or failed trades in an answer.
             */
            maxSettlementsPerPage: number;
            /**
             * Format: uint64
             * @description Most pending or failed claims in an answer.
             */
            maxClaimsPerPage: number;
            /**
             * Format: uint64
             * @description Most records of the history in an answer.
             */
            maxEventsPerPage: number;
            /**
             * Format: uint64
             * @description Most quick markets in the history of an asset.
             */
            maxQuickMarkets: number;
            /**
             * Format: uint64
             * @description Most open price streams of one process.
             */
            maxPriceStreams: number;
            /**
             * Format: uint64
             * @description Most of them of one client address; 0 = no limit.
             */
            maxPriceStreamsPerAddress: number;
            /**
             * Format: uint64
             * @description How far ahead the deadline of a relayed action may be at most.
             */
            maxRelayDeadlineS: number;
            /**
             * Format: uint64
             * @description Most redemptions in one batch.
             */
            maxRedemptionsPerBatch: number;
            /**
             * Format: uint64
             * @description Most gas that is relayed for one owner in an hour; 0 = no limit.
             */
            relayGasPerOwnerAndHour: number;
            /**
             * Format: uint64
             * @description Most gas that is relayed with one bearer token in an hour; 0 = no limit.
             */
            relayGasPerTokenAndHour: number;
            /**
             * Format: uint64
             * @description Length of the window in which requests are counted.
             */
            rateLimitWindowS: number;
            /**
             * Format: uint64
             * @description Most orders and cancels per client address and window; 0 = no limit.
             */
            ordersPerWindow: number;
            /**
             * Format: uint64
             * @description Most reads per client address and window; 0 = no limit.
             */
            readsPerWindow: number;
        };
        Configuration: {
            /**
             * Format: uint64
             * @description Unix seconds.
             */
            serverTime: number;
            chains: components["schemas"]["Chain"][];
            orderTypes: components["schemas"]["OrderTypes"];
            /**
             * @description Whether a cancel needs the trader's signature.
             * @enum {string}
             */
            cancelAuth: "required" | "open";
            prices: components["schemas"]["PriceSettings"];
            quickMarkets: components["schemas"]["QuickMarketSettings"];
            limits: components["schemas"]["Limits"];
        };
        /** @description A contract and how it is called. */
        ChainContract: {
            /** @description Where the contract is; null for `market`, since each market has its own `contractAddress`. */
            address: Hex | null;
            /** @description Solidity's ABI of the functions that a wallet needs, and of the events and errors: ethers and viem take it as it is. */
            abi: ({
                type: string;
            } & {
                [key: string]: unknown;
            })[];
        };
        ContractsByName: {
            /** @description Settles fills, and cancels orders on the chain. */
            settlement: components["schemas"]["ChainContract"];
            /** @description The shares (ERC-1155): split, merge, redeem, approve. */
            conditionalTokens: components["schemas"]["ChainContract"];
            /** @description The stablecoin (ERC-20 with permit). */
            collateral: components["schemas"]["ChainContract"];
            /** @description Finds the contract of a market. */
            marketFactory: components["schemas"]["ChainContract"];
            /** @description Assertions and disputes. */
            oracle: components["schemas"]["ChainContract"];
            /** @description Proposes and settles resolutions. */
            oracleResolver: components["schemas"]["ChainContract"];
            /** @description Resolves quick markets. */
            quickResolver: components["schemas"]["ChainContract"];
            /** @description Several calls as one. */
            multicall: components["schemas"]["ChainContract"];
            /** @description One market. */
            market: components["schemas"]["ChainContract"];
        };
        ChainContracts: {
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            contracts: components["schemas"]["ContractsByName"];
        };
        ChainsContracts: {
            /** @description Empty when orders settle nowhere. */
            chains: components["schemas"]["ChainContracts"][];
        };
        Liveness: {
            /** @constant */
            live: true;
        };
        ClockReadiness: {
            /** @description While the clock is not trusted, orders are refused and no time passes in the history. */
            trusted: boolean;
            /** @description Why the clock is not trusted; empty while it is. */
            doubts: string[];
            /** @description The trusted time, ISO 8601 in UTC. */
            time: string;
            /**
             * Format: int64
             * @description The machine's clock minus the trusted time, in milliseconds.
             */
            wallAheadMs: number;
            /**
             * Format: int64
             * @description The clock of the log's database minus the trusted time; null while it is not known.
             */
            databaseAheadMs: number | null;
            /**
             * Format: int64
             * @description The latest time in the history minus the trusted time; null while the history is empty or not known here.
             */
            historyAheadMs: number | null;
        };
        DatabaseReadiness: {
            /**
             * @description What the database is for.
             * @enum {string}
             */
            name: "log" | "read models" | "outbox";
            answers: boolean;
            /** @description Why it does not answer; null while it does. */
            lastError: string | null;
        };
        DiskReadiness: {
            /** @description The first directory on the fullest of the disks that the process writes to, such as DATA_DIR or DATA_DIR/postgres. */
            directory: string;
            /**
             * Format: uint64
             * @description Free space on that disk.
             */
            freeBytes: number;
            /**
             * Format: uint64
             * @description Below this, orders are refused; 0 means never.
             */
            minFreeBytes: number;
        };
        EngineReadiness: {
            /**
             * Format: uint64
             * @description Number of commands that this engine has decided.
             */
            position: number;
            /**
             * Format: uint64
             * @description Number of commands in the log.
             */
            logLength: number;
            /** @description This engine is on standby: another engine records the command outcomes. */
            standby: boolean;
        };
        ProjectionReadiness: {
            name: string;
            /**
             * Format: uint64
             * @description Number of command outcomes that the read model includes.
             */
            position: number;
            /**
             * Format: uint64
             * @description Number of command outcomes that the read model does not include yet.
             */
            lag: number;
        };
        KeptHistory: {
            /**
             * Format: uint64
             * @description What was over before this log position is removed from the read models.
             */
            from: number;
            /**
             * Format: uint64
             * @description Number of rows that this process has removed.
             */
            removedRows: number;
        };
        ReadModelsReadiness: {
            /**
             * Format: int64
             * @description Last log position that all reads include; -1 for none.
             */
            position: number;
            /**
             * Format: uint64
             * @description Number of commands after that position.
             */
            lag: number;
        };
        FeedReadiness: {
            /** @description Kafka's topic. */
            topic: string;
            /** @description Another process publishes the fill feed. */
            standby: boolean;
            /**
             * Format: uint64
             * @description Number of command outcomes whose messages are published; null while that is not known.
             */
            position: number | null;
            /**
             * Format: uint64
             * @description Number of commands whose messages are not published yet; null while that is not known.
             */
            lag: number | null;
            /** @description Why nothing can be published; null when it can. */
            problem: string | null;
            /** @description What of the topic is not as the feed promises, with what mends it; null when nothing is known to be. */
            topicProblem: string | null;
        };
        IntakeReadiness: {
            /** @description Another process takes in the fills, and settles them. */
            standby: boolean;
            /**
             * Format: uint64
             * @description Number of command outcomes that are taken in; null while that is not known.
             */
            position: number | null;
            /**
             * Format: uint64
             * @description Number of commands that are not taken in yet; null while that is not known.
             */
            lag: number | null;
            /** @description Why nothing can be taken in; null when it can. */
            problem: string | null;
            /** @description Why fills are taken from the log, and not from Kafka; null while they come by Kafka, or are not to. */
            kafkaProblem: string | null;
        };
        LaneReadiness: {
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            /** @description Name of the key in the settings. */
            key: string;
            address: components["schemas"]["Address"];
            /** @description Another process sends with this key. */
            standby: boolean;
            /** @description What blocks the lane; null when nothing does. */
            problem: string | null;
        };
        KeeperReadiness: {
            /** @description Another process is the keeper of this chain. */
            standby: boolean;
            /**
             * Format: uint64
             * @description Number of proposed resolutions that are disputed, or past their dispute window and the time for others to settle them.
             */
            dueProposals: number;
            /**
             * Format: uint64
             * @description Number of those that have waited for more than seven days since their dispute window.
             */
            overdueProposals: number;
            /** @description Why the keeper cannot look or send; null when it can. */
            problem: string | null;
        };
        RelayerReadiness: {
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            address: components["schemas"]["Address"];
            /** @description Another process relays on this chain. */
            standby: boolean;
            /**
             * Format: uint64
             * @description Number of relayed requests that have not ended.
             */
            openRelays: number;
            /** @description Why the relayer cannot send; null when it can. */
            problem: string | null;
            keeper: components["schemas"]["KeeperReadiness"];
        };
        PriceSourceReadiness: {
            name: string;
            connected: boolean;
            /**
             * Format: uint64
             * @description Seconds since its last price; null before the first.
             */
            sinceHeardS: number | null;
            /** @description What went wrong last; null when all has been well since prices came. */
            problem: string | null;
        };
        PricedAssetReadiness: {
            asset: string;
            /** @description The source in use. */
            source: string;
            /**
             * Format: uint64
             * @description Seconds since the last price that counts was published; null before the first.
             */
            sincePriceS: number | null;
        };
        PricesReadiness: {
            /** @description Another process records prices. */
            standby: boolean;
            /** @description Why no price can be recorded; null when it can. */
            problem: string | null;
            /** @description The best first. */
            sources: components["schemas"]["PriceSourceReadiness"][];
            assets: components["schemas"]["PricedAssetReadiness"][];
        };
        QuickMarketsReadiness: {
            /**
             * Format: uint64
             * @description Chain identifier.
             */
            chainId: number;
            address: components["schemas"]["Address"];
            /** @description Another process creates and resolves the quick markets of this chain. */
            standby: boolean;
            /**
             * Format: uint64
             * @description Number of quick markets that there should be and are not.
             */
            missingMarkets: number;
            /**
             * Format: uint64
             * @description Number of decided quick markets that the chain has not resolved.
             */
            decidedMarkets: number;
            /**
             * Format: uint64
             * @description Number of quick markets whose price at the start or the end did not come in time.
             */
            unresolvableMarkets: number;
            /**
             * Format: uint64
             * @description Number of creations and resolutions that the contracts refused last.
             */
            refused: number;
            /** @description Why nothing can be looked at or sent; null when it can. */
            problem: string | null;
        };
        Readiness: {
            ready: boolean;
            /** @description Why the service is not ready; empty when it is ready. */
            reasons: string[];
            /** @description Roles of the process; for a stack of several processes, the roles of all of them. */
            roles: string[];
            /** @description The process's clock. */
            clock?: components["schemas"]["ClockReadiness"];
            /** @description Databases that the process uses. Each is asked at most twice per second, with a time limit of 2 s. */
            databases?: components["schemas"]["DatabaseReadiness"][];
            disk?: components["schemas"]["DiskReadiness"];
            engine?: components["schemas"]["EngineReadiness"];
            /** @description State of the projections role. */
            projections?: components["schemas"]["ProjectionReadiness"][];
            /** @description How far back the read models go. */
            history?: components["schemas"]["KeptHistory"];
            /** @description State of the query role. */
            readModels?: components["schemas"]["ReadModelsReadiness"];
            /** @description State of the feed role, with KAFKA_BROKERS: how far the fill feed is published in each of its topics. */
            feeds?: components["schemas"]["FeedReadiness"][];
            /** @description State of the indexer and settlement roles; each has its own fields. */
            chains?: {
                /**
                 * Format: uint64
                 * @description Chain identifier.
                 */
                chainId?: number;
                /**
                 * Format: uint64
                 * @description The last final block of the chain; null while there is none, as before the chain has answered.
                 */
                finalBlock?: number | null;
                /**
                 * Format: uint64
                 * @description Number of final blocks that the history does not have yet.
                 */
                lagBlocks?: number;
                /** @description Whether the last request to the chain succeeded. While the chain is unreachable, orders are accepted and fills wait. */
                reachable?: boolean;
                /**
                 * Format: uint64
                 * @description Number of requests to the chain that failed in a row.
                 */
                failures?: number;
                /** @description Why the last request failed, or which blocks a node that answers has lost; null when nothing is wrong. */
                lastError?: string | null;
                /**
                 * Format: uint64
                 * @description Seconds since a request succeeded, or since the start.
                 */
                sinceLookS?: number;
                /** @description The chain has had no new block for too long. */
                stalled?: boolean;
                /** @description Why the chain is not recorded any more; null while it is recorded. */
                stopped?: string | null;
                /** @description Which quick market the chain has resolved otherwise than the exchange decided, since the process started; null when none. */
                resolutionProblem?: string | null;
                /**
                 * Format: uint64
                 * @description Number of quick markets that the chain has resolved otherwise than the exchange decided, since the process started.
                 */
                contradictedMarkets?: number;
                /**
                 * Format: uint64
                 * @description Number of transactions whose anchors the chain's settings pass over.
                 */
                anchorsPassedOver?: number;
                /**
                 * Format: uint64
                 * @description Number of fills that wait to be sent, counted up to 10,000.
                 */
                waitingFills?: number;
                /**
                 * Format: uint64
                 * @description Number of fills in transactions that are neither confirmed nor failed.
                 */
                sentFills?: number;
                /**
                 * Format: uint64
                 * @description How long the oldest waiting fill has waited, in seconds; null when none waits, or another process settles.
                 */
                oldestWaitingS?: number | null;
                /** @description What blocks settlement; null when nothing does. */
                settlementProblem?: string | null;
            }[];
            /** @description State of the settlement role: how far the fills to settle have come in. */
            intakes?: components["schemas"]["IntakeReadiness"][];
            /** @description State of the lane role. */
            lanes?: components["schemas"]["LaneReadiness"][];
            /** @description State of the relayer role. */
            relays?: components["schemas"]["RelayerReadiness"][];
            /** @description State of the prices role. */
            prices?: components["schemas"]["PricesReadiness"][];
            /** @description State of the prices role, for each chain with a key for quick markets. */
            quickMarkets?: components["schemas"]["QuickMarketsReadiness"][];
        };
        /** @description A message. */
        StreamMessage: components["schemas"]["BookSnapshot"] | components["schemas"]["BookChange"] | components["schemas"]["TradeMade"] | components["schemas"]["TradeSettlement"] | components["schemas"]["OwnOrderAccepted"] | components["schemas"]["OwnOrderFilled"] | components["schemas"]["OwnOrderSettled"] | components["schemas"]["OwnOrderFailed"] | components["schemas"]["OwnOrderReinstated"] | components["schemas"]["OwnOrderReduced"] | components["schemas"]["OwnOrderCancelled"] | components["schemas"]["PriceTold"] | components["schemas"]["MarketTold"] | components["schemas"]["MarketExpired"] | components["schemas"]["MarketProposed"] | components["schemas"]["MarketDisputed"] | components["schemas"]["MarketRejected"] | components["schemas"]["MarketResolvedTold"] | components["schemas"]["MarketHalvedTold"] | components["schemas"]["StreamError"];
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
