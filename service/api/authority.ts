/** Who may call an endpoint: what the request must carry, as the OpenAPI document and a 401 answer state it. */

/** A security scheme as OpenAPI describes it. */
export type SecurityScheme = { readonly description: string } & (
  { readonly type: 'apiKey'; readonly in: 'header'; readonly name: string } | { readonly type: 'http'; readonly scheme: 'bearer' }
);

export interface Authority {
  /** The schemes that a request must satisfy, by name: all of them. Empty: anybody may call. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>;
  /** `WWW-Authenticate` of a 401 answer (RFC 9110): what would be accepted. */
  readonly challenge?: string;
}

/** The request needs no headers for authentication: the endpoint is public, or the body carries a signature. */
export const anybody: Authority = { schemes: {} };

/** The trader's EIP-712 signature of the cancel, in two headers. No registered scheme fits, so the challenge's scheme is our own. */
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
  challenge: 'EIP-712 primaryType="CancelOrder", headers="X-Cancel-Signature X-Cancel-Deadline"',
};
