/** Whether only this machine answers to a name. Pure. */
export function isLoopbackName(name: string): boolean {
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "[::1]" ||
    name === "::1" ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)
  );
}

/** Whether an address of a peer is this machine's own. */
export function isLoopbackAddress(address: string): boolean {
  return isLoopbackName(address.replace(/^::ffff:/, ""));
}

/** The name in a `Host` header without its port, in lower case; undefined for what is no host. */
export function hostName(host: string): string | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host);
  return match?.[1]?.toLowerCase().replace(/\.$/, "");
}
