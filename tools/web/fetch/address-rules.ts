/**
 * Which addresses are of the public internet. An address inside another (IPv4-mapped, NAT64) is judged by what is
 * inside; forms that can smuggle an address and that nobody serves pages from (6to4, Teredo, IPv4-compatible) are
 * refused as a whole.
 */
import ipaddr from 'ipaddr.js';

/** Services of a cloud's host at addresses that look public: Azure's wire server. */
const HOST_SERVICES: readonly (readonly [ipaddr.IPv4, number])[] = [[ipaddr.IPv4.parse('168.63.129.16'), 32]];
const GLOBAL_UNICAST: readonly [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];
const NAT64: readonly [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('64:ff9b::'), 96];

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Undefined for what is no address. A zone id never belongs to a public one, and stays. */
export function parseAddress(text: string): Address | undefined {
  if (!ipaddr.isValid(text)) return undefined;
  return unwrap(ipaddr.parse(text));
}

/** What kind of address it is, in a word, if it is not of the public internet. */
export function notPublic(address: Address): string | undefined {
  if (address instanceof ipaddr.IPv4) {
    if (HOST_SERVICES.some(([base, bits]) => address.match(base, bits))) return 'a metadata service';
    const range = address.range();
    return range === 'unicast' ? undefined : (WORDS[range] ?? 'reserved');
  }
  if (address.zoneId !== undefined) return 'local to a network interface';
  const range = address.range();
  if (range !== 'unicast') return WORDS[range] ?? 'reserved';
  return address.match(...GLOBAL_UNICAST) ? undefined : 'reserved';
}

const WORDS: Readonly<Record<string, string>> = {
  unspecified: 'of this machine',
  loopback: 'of this machine',
  private: 'private',
  uniqueLocal: 'private',
  deprecatedSiteLocal: 'private',
  linkLocal: 'link-local',
  carrierGradeNat: "of a provider's inner network",
  multicast: 'multicast',
  broadcast: 'multicast',
};

function unwrap(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  if (!address.match(...NAT64)) return address;
  return new ipaddr.IPv4(address.toByteArray().slice(-4));
}
