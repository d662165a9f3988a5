/** Generated from contracts-abi/solidity/Multicall3.sol by `npm run generate`: never edit it by hand. */
/* eslint-disable */
export const multicall3 = {
  abi: [
    {"inputs":[{"name":"index","type":"uint256"}],"name":"CallFailed","type":"error"},
    {"inputs":[{"components":[{"name":"target","type":"address"},{"name":"allowFailure","type":"bool"},{"name":"callData","type":"bytes"}],"name":"calls","type":"tuple[]"}],"name":"aggregate3","outputs":[{"components":[{"name":"success","type":"bool"},{"name":"returnData","type":"bytes"}],"name":"returnData","type":"tuple[]"}],"stateMutability":"payable","type":"function"},
    {"inputs":[],"name":"getBlockNumber","outputs":[{"name":"blockNumber","type":"uint256"}],"stateMutability":"view","type":"function"},
    {"inputs":[],"name":"getCurrentBlockTimestamp","outputs":[{"name":"timestamp","type":"uint256"}],"stateMutability":"view","type":"function"},
    {"inputs":[{"name":"account","type":"address"}],"name":"getEthBalance","outputs":[{"name":"balance","type":"uint256"}],"stateMutability":"view","type":"function"},
    {"inputs":[{"name":"requireSuccess","type":"bool"},{"components":[{"name":"target","type":"address"},{"name":"callData","type":"bytes"}],"name":"calls","type":"tuple[]"}],"name":"tryAggregate","outputs":[{"components":[{"name":"success","type":"bool"},{"name":"returnData","type":"bytes"}],"name":"returnData","type":"tuple[]"}],"stateMutability":"payable","type":"function"},
  ],
  bytecode: '0x608080604052346015576106f2908161001a8239f35b5f80fdfe6080806040526004361015610012575f80fd5b5f3560e01c9081630f28c97d146102e85750806342cbb15c146102b05780634d2301cc1461025557806382ad56cb1461016e5763bce38bd714610053575f80fd5b60407ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc36011261016a57600435801515810361016a5760243567ffffffffffffffff811161016a576100a990369060040161031e565b916100b3836104bd565b915f5b8481106100cf57604051806100cb868261034f565b0390f35b6101036100e56100e0838886610620565b61059a565b6100fd6100f3848987610620565b60208101906105bb565b91610660565b61010d828661060c565b52610118818561060c565b508280610157575b61012c576001016100b6565b7f3f9a3b48000000000000000000000000000000000000000000000000000000005f5260045260245ffd5b50610162818561060c565b515115610120565b5f80fd5b60207ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc36011261016a5760043567ffffffffffffffff811161016a576101b890369060040161031e565b6101c1816104bd565b915f5b8281106101d957604051806100cb868261034f565b6102026101ea6100e083868661052d565b6100fd6101f884878761052d565b60408101906105bb565b61020c828661060c565b52610217818561060c565b50610222818561060c565b51511580610237575b61012c576001016101c4565b50602061024582858561052d565b013580159081151461022b575f80fd5b3461016a5760207ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc36011261016a5760043573ffffffffffffffffffffffffffffffffffffffff8116810361016a5760209031604051908152f35b3461016a575f7ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc36011261016a576020604051438152f35b3461016a575f7ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc36011261016a57602090428152f35b9181601f8401121561016a5782359167ffffffffffffffff831161016a576020808501948460051b01011161016a57565b602081016020825282518091526040820191602060408360051b8301019401925f915b83831061038157505050505090565b90919293946020806060837fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc086600196030187527fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0601f84808d5180511515865201516040828601528051918291826040880152018686015e5f8582860101520116010197019301930191939290610372565b604051906040820182811067ffffffffffffffff82111761043457604052565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52604160045260245ffd5b907fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0601f604051930116820182811067ffffffffffffffff82111761043457604052565b67ffffffffffffffff81116104345760051b60200190565b906104cf6104ca836104a5565b610461565b8281527fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe06104fd82946104a5565b01905f5b82811061050d57505050565b602090610518610414565b5f815260608382015282828501015201610501565b919081101561056d5760051b810135907fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa18136030182121561016a570190565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52603260045260245ffd5b3573ffffffffffffffffffffffffffffffffffffffff8116810361016a5790565b9035907fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe18136030182121561016a570180359067ffffffffffffffff821161016a5760200191813603831361016a57565b805182101561056d5760209160051b010190565b919081101561056d5760051b810135907fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc18136030182121561016a570190565b9092915f8061066d610414565b93818552602085019360608552828698826040519384928337810182815203925af1903d156106ea573d9067ffffffffffffffff8211610434576106d860207fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0601f85011601610461565b9182523d5f602084013e5b5215159052565b6060906106e356',
} as const;

export interface Call {
  readonly target: string;
  readonly callData: string;
}

export interface Call3 {
  readonly target: string;
  readonly allowFailure: boolean;
  readonly callData: string;
}

export interface Result {
  readonly success: boolean;
  readonly returnData: string;
}

export type Multicall3Error =
  | 'CallFailed';
