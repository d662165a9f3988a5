/** Who may call an endpoint: what the request must carry, as the OpenAPI document and a 401 answer state it. */
import { errors, type ClientError } from './errors.js';
import type { Scope } from './scopes.js';

/** A security scheme as OpenAPI describes it. */
export type SecurityScheme = { readonly description: string } & (
  { readonly type: 'apiKey'; readonly in: 'header'; readonly name: string } | { readonly type: 'http'; readonly scheme: 'bearer' }
);

export interface Authority {
  /** The schemes that a request must satisfy, by name: all of them. Empty: anybody may call. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>;
  /** The scope that the request's bearer token must have; absent: the request needs no bearer token. */
  readonly scope?: Scope;
  /**
   * `WWW-Authenticate` of the answer to an error (RFC 9110): what would be accepted. Undefined for errors that have
   * another cause.
   */
  readonly challenge?: (error: ClientError) => string | undefined;
}

/** An authority whose requests carry a bearer token. */
export interface TokenAuthority extends Authority {
  readonly scope: Scope;
}

/** The request needs no headers for authentication: the endpoint is public, or the body carries a signature. */
export const anybody: Authority = { schemes: {} };

/**
 * The trader's EIP-712 signature of the cancel, in two headers. No registered scheme fits, so the challenge's scheme is
 * our own.
 */
export const cancelSignature: Authority = {
  schemes: {
    CancelSignature: {
      type: 'apiKey', in: 'header', name: 'X-Cancel-Signature',
      description: 'The trader\'s EIP-712 signature of CancelOrder(bytes32 orderHash,address trader,uint64 deadline) in the chain\'s orderDomain: '
        + 'every cancel needs its own signature. Not needed when cancelAuth in /api/v1/config is open.',
    },
    CancelDeadline: {
      type: 'apiKey', in: 'header', name: 'X-Cancel-Deadline', description: 'The deadline in the signed CancelOrder, in Unix seconds.',
    },
  },
  challenge: ({ code }) => errors[code].status === 401 ? 'EIP-712 primaryType="CancelOrder", headers="X-Cancel-Signature X-Cancel-Deadline"' : undefined,
};

/** The trader's EIP-712 signature of the request, in the body beside its deadline. */
export function requestSignature(primaryType: string): Authority {
  return { schemes: {}, challenge: ({ code }) => errors[code].status === 401 ? `EIP-712 primaryType="${primaryType}", fields="signature deadline"` : undefined };
}

const REALM = 'Bearer realm="prediction-exchange"';

/**
 * A bearer token (RFC 6750). The service refuses a request without a valid one before it reads the body, and passes the
 * token on as `context.token`. The scope is the handler's to require, at its place among the other checks:
 * `requireScope(context.token, scope)`.
 */
export function bearer(scope: Scope): TokenAuthority {
  return {
    schemes: {
      BearerToken: {
        type: 'http', scheme: 'bearer',
        description: 'An opaque token in the header Authorization. The operator of the exchange issues tokens; the development stack keeps one in DATA_DIR/token.',
      },
    },
    scope,
    // Each error has the attributes that RFC 6750 asks for: none for a request without a token.
    challenge({ code, detail }) {
      switch (code) {
        case 'missing_token': return REALM;
        case 'invalid_token': return `${REALM}, error="invalid_token", error_description="${detail}"`;
        case 'insufficient_scope': return `${REALM}, error="insufficient_scope", error_description="the token lacks the scope ${scope}", scope="${scope}"`;
        default: return undefined;
      }
    },
  };
}
