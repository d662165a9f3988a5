/** The part of fs-native-extensions that is used here; the package has no types of its own. */
declare module 'fs-native-extensions' {
  /** Locks the whole open file exclusively, by the operating system; false while another open file has the lock. */
  export function tryLock(fd: number): boolean;
}
