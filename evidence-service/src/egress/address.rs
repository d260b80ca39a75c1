//! Which addresses are public. Pure; our own table, because the standard library's is not stable.
//!
//! Ranges: the IANA special-purpose registries for IPv4 and IPv6, and the metadata address of one cloud that is none of
//! them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether a stranger on the Internet could be meant by it.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !SPECIAL_V4.iter().any(|(net, bits)| within_v4(v4, *net, *bits)),
        IpAddr::V6(v6) => {
            within_v6(v6, GLOBAL_UNICAST.0, GLOBAL_UNICAST.1)
                && !SPECIAL_V6.iter().any(|(net, bits)| within_v6(v6, *net, *bits))
                && !is_isatap(v6)
        }
    }
}

type V4Net = (Ipv4Addr, u32);
type V6Net = (Ipv6Addr, u32);

const fn v4(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, d)
}

const fn v6(a: u16, b: u16) -> Ipv6Addr {
    Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0)
}

const SPECIAL_V4: [V4Net; 19] = [
    (v4(0, 0, 0, 0), 8),
    (v4(10, 0, 0, 0), 8),
    (v4(100, 64, 0, 0), 10),
    (v4(127, 0, 0, 0), 8),
    // Answers of the platform itself, on every machine of one cloud.
    (v4(168, 63, 129, 16), 32),
    (v4(169, 254, 0, 0), 16),
    (v4(172, 16, 0, 0), 12),
    (v4(192, 0, 0, 0), 24),
    (v4(192, 0, 2, 0), 24),
    (v4(192, 31, 196, 0), 24),
    (v4(192, 52, 193, 0), 24),
    (v4(192, 88, 99, 0), 24),
    (v4(192, 168, 0, 0), 16),
    (v4(192, 175, 48, 0), 24),
    (v4(198, 18, 0, 0), 15),
    (v4(198, 51, 100, 0), 24),
    (v4(203, 0, 113, 0), 24),
    (v4(224, 0, 0, 0), 4),
    (v4(240, 0, 0, 0), 4),
];

/// All else of IPv6 is something special: loopback, mapped and translated IPv4, unique local, link local, multicast.
const GLOBAL_UNICAST: V6Net = (v6(0x2000, 0), 3);

const SPECIAL_V6: [V6Net; 4] = [
    (v6(0x2001, 0), 23),
    (v6(0x2001, 0x0db8), 32),
    // Carries an IPv4 address that nobody judged.
    (v6(0x2002, 0), 16),
    (v6(0x3fff, 0), 20),
];

/// `::0:5efe:a.b.c.d` below any prefix (RFC 5214): an IPv4 address in other clothes.
fn is_isatap(address: Ipv6Addr) -> bool {
    let [.., a, b, _, _] = address.segments();
    a & 0xfdff == 0 && b == 0x5efe
}

fn within_v4(address: Ipv4Addr, net: Ipv4Addr, bits: u32) -> bool {
    let mask = u32::MAX << (32 - bits);
    address.to_bits() & mask == net.to_bits()
}

fn within_v6(address: Ipv6Addr, net: Ipv6Addr, bits: u32) -> bool {
    let mask = u128::MAX << (128 - bits);
    address.to_bits() & mask == net.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().expect("an address"))
    }

    /// C7: the first and the last address of every range, and their neighbours outside.
    #[test]
    fn an_address_that_is_private_or_special_is_not_public() {
        for (net, bits) in SPECIAL_V4 {
            let first = net.to_bits();
            let last = first | u32::MAX.checked_shr(bits).unwrap_or(0);
            for inside in [first, last] {
                assert!(!is_public(IpAddr::V4(Ipv4Addr::from_bits(inside))), "{net}/{bits}");
            }
        }
        for text in [
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "8.8.8.8",
            "1.1.1.1",
        ] {
            assert!(public(text), "{text}");
        }
    }

    /// C7
    #[test]
    fn of_ipv6_only_global_unicast_is_public() {
        for text in [
            "::",
            "::1",
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "64:ff9b::8.8.8.8",
            "64:ff9b:1::1",
            "100::1",
            "1fff::1",
            "2001::1",
            "2001:1ff:ffff::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "3fff:fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2606:4700::5efe:10.0.0.1",
            "2606:4700::200:5efe:7f00:1",
        ] {
            assert!(!public(text), "{text}");
        }
        for text in
            ["2000::1", "2001:200::1", "2001:db7::1", "2003::1", "2606:4700::1111", "3ffe::1", "3fff:1000::1"]
        {
            assert!(public(text), "{text}");
        }
    }
}
