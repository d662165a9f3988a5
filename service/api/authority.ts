/** Who may call an endpoint: what the request must carry, for the OpenAPI document and for the answer to a request without it. */

/** A security scheme as OpenAPI describes it. */
export type SecurityScheme = { readonly description: string } & (
  { readonly type: 'apiKey'; readonly in: 'header'; readonly name: string } | { readonly type: 'http'; readonly scheme: 'bearer' }
);

export interface Authority {
  /** All that a request needs, by the names of the schemes; none: anybody may call. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>;
  /** `WWW-Authenticate` of a 401 (RFC 9110): what would be accepted. */
  readonly challenge?: string;
}

/** Nothing is needed, or the body carries its own signature. */
export const anybody: Authority = { schemes: {} };

/** The trader's EIP-712 signature of the cancel, in two headers. No registered scheme fits that, so the challenge is our own. */
export const cancelSignature: Authority = {
  schemes: {
    CancelSignature: {
      type: 'apiKey', in: 'header', name: 'X-Cancel-Signature',
      description: 'The trader\'s EIP-712 signature of CancelOrder(bytes32 orderHash,address trader,uint64 deadline) in the chain\'s orderDomain: '
        + 'every cancel needs a signature of its own. Not needed where /api/v1/config says cancelAuth = open.',
    },
    CancelDeadline: {
      type: 'apiKey', in: 'header', name: 'X-Cancel-Deadline', description: 'The deadline in the signed CancelOrder, in Unix seconds.',
    },
  },
  challenge: 'EIP-712 primaryType="CancelOrder", headers="X-Cancel-Signature X-Cancel-Deadline"',
};
