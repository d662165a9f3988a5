/** Chains that the tool knows: their names, whether their money has value, and where UMA has its oracle there. */

export interface KnownChain {
  readonly chainId: number;
  readonly name: string;
  /** Its money has no value. */
  readonly testnet: boolean;
  /** UMA's Optimistic Oracle V3, as UMA's repository has it (UMAprotocol/protocol, packages/core/networks). */
  readonly oracle?: string;
}

export const KNOWN_CHAINS: readonly KnownChain[] = [
  { chainId: 1, name: 'Ethereum', testnet: false, oracle: '0xfb55F43fB9F48F63f9269DB7Dde3BbBe1ebDC0dE' },
  { chainId: 10, name: 'OP Mainnet', testnet: false, oracle: '0x072819Bb43B50E7A251c64411e7aA362ce82803B' },
  { chainId: 56, name: 'BNB Smart Chain', testnet: false },
  { chainId: 100, name: 'Gnosis', testnet: false },
  { chainId: 137, name: 'Polygon', testnet: false, oracle: '0x5953f2538F613E05bAED8A5AeFa8e6622467AD3D' },
  { chainId: 8_453, name: 'Base', testnet: false, oracle: '0x2aBf1Bd76655de80eDB3086114315Eec75AF500c' },
  { chainId: 42_161, name: 'Arbitrum One', testnet: false, oracle: '0xa6147867264374F324524E30C02C331cF28aa879' },
  { chainId: 43_114, name: 'Avalanche', testnet: false },
  { chainId: 59_144, name: 'Linea', testnet: false },
  { chainId: 80_002, name: 'Polygon Amoy', testnet: true, oracle: '0xd8866E76441df243fc98B892362Fc6264dC3ca80' },
  { chainId: 84_532, name: 'Base Sepolia', testnet: true, oracle: '0x0F7fC5E6482f096380db6158f978167b57388deE' },
  { chainId: 11_155_111, name: 'Sepolia', testnet: true, oracle: '0xFd9e2642a170aDD10F53Ee14a93FcF2F31924944' },
];

export function knownChain(chainId: number): KnownChain | undefined {
  return KNOWN_CHAINS.find((each) => each.chainId === chainId);
}

/** A line per chain, for --help. */
export function knownChainsText(): string {
  const lines = KNOWN_CHAINS.map(({ chainId, name, testnet, oracle = 'no oracle known' }) => {
    const money = testnet ? 'testnet' : 'money has value';
    return `  ${String(chainId).padEnd(10)}${name.padEnd(17)}${money.padEnd(17)}${oracle}`;
  });
  const head = 'Known chains, with UMA\'s Optimistic Oracle V3 as UMA publishes it. Any other chain with EIP-1559 works too.';
  return [head, ...lines].join('\n');
}
