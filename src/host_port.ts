/** `address:port`, an IPv6 address in brackets (RFC 3986, 3.2.2), as URLs and net grants have it. */
export function hostPort(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
