/**
 * Values that the examples of the OpenAPI document share, so that all examples show the same trade: Alice buys YES from
 * Bob.
 */
export const alice = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';
export const bob = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc';
export const maker = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266';
export const contractAddress = '0x9fe46736679d2d9a65f0992f2272de9f3c7fa6e0';
export const settlementAddress = '0x5fbdb2315678afecb367f032d93f642f64180aa3';
export const marketId = `0x${'4d'.repeat(32)}`;
export const orderHash = `0x${'a1'.repeat(32)}`;
export const txHash = `0x${'7e'.repeat(32)}`;
export const digest = `0x${'d7'.repeat(32)}`;
export const signature = `0x${'11'.repeat(32)}${'22'.repeat(32)}1b`;
export const question = 'Will total value locked in DeFi pass 200 billion dollars this year?';
export const placedAt = 1_790_000_000;
/** `placedAt` in ISO 8601. */
export const placedAtIso = '2026-09-21T14:13:20.000Z';
export const collateralAddress = '0xe7f1725e7734ce288f8367e1bb143e90bb3f0512';
export const expiration = 1_798_675_200;
