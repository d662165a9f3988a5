/** What of ethers the page needs, in a script of its own, which is loaded when somebody signs with a key of the page. */
export { BrowserProvider, Contract, JsonRpcProvider, Wallet } from 'ethers';
