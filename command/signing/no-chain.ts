/**
 * The chain of CHAINS=none: nothing settles there, and orders are signed for it all the same. The setting CHAIN_ID has
 * its id.
 */
export const NO_CHAIN = {
  name: 'Development chain',
  testnet: true,
  domainName: 'Prediction Exchange Settlement',
  contracts: { settlement: '0x5fbdb2315678afecb367f032d93f642f64180aa3' },
};
