import { accessSync, closeSync, constants, openSync } from 'node:fs';

/** One switch for the whole machine: whether LOG rules print in network namespaces other than the first (Linux 4.11). */
export const LOG_ALL_NAMESPACES = '/proc/sys/net/netfilter/nf_log_all_netns';
export const KERNEL_LOG = '/dev/kmsg';

/** Throws an error that names the parts of the kernel that test networks need and this process may not use. */
export function requireKernelAccess(): void {
  const missing = [
    ...(process.getuid?.() === 0 ? [] : ['root, to make network namespaces']),
    ...(isAllowed(() => closeSync(openSync(KERNEL_LOG, constants.O_RDONLY | constants.O_NONBLOCK)))
      ? []
      : [`${KERNEL_LOG}, readable`]),
    ...(isAllowed(() => accessSync(LOG_ALL_NAMESPACES, constants.W_OK)) ? [] : [`${LOG_ALL_NAMESPACES}, writable`]),
  ];
  if (missing.length > 0) throw new Error(`[network] what the test network needs: ${missing.join('; ')}`);
}

// Opens the kernel's log, because with kernel.dmesg_restrict the mode of the file says nothing.
function isAllowed(use: () => void): boolean {
  try {
    use();
    return true;
  } catch {
    return false;
  }
}
