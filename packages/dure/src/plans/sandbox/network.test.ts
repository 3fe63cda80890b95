import { expect, test } from "vitest";
import {
  decideHost,
  parseHost,
  refusedAddress,
  targetOfUrl,
  type NetworkPolicy,
} from "./network.ts";

const open: NetworkPolicy = { kind: "open", hosts: [] };
const provider = (...hosts: string[]): NetworkPolicy => ({ kind: "provider", hosts });

test.for([
  ["api.example.org", { host: "api.example.org", port: undefined }],
  ["API.example.org.", { host: "api.example.org", port: undefined }],
  ["*.example.org:8443", { host: "*.example.org", port: 8443 }],
  ["10.0.0.7:8080", { host: "10.0.0.7", port: 8080 }],
  ["[::1]:8080", { host: "::1", port: 8080 }],
  ["::1", { host: "::1", port: undefined }],
  ["http://example.org", undefined],
  ["example.org/path", undefined],
  ["example.org:0", undefined],
  ["example.org:70000", undefined],
  ["*", undefined],
  ["", undefined],
] as const)("a host is read as it is written: %s", ([text, rule]) => {
  expect(parseHost(text)).toEqual(rule);
});

test.for([
  ["none", { kind: "none", hosts: ["api.example.org"] }, "api.example.org", 443, false],
  ["a named host", provider("api.example.org"), "api.example.org", 443, true],
  ["a named host at another port", provider("api.example.org"), "api.example.org", 22, false],
  ["another host", provider("api.example.org"), "example.org", 443, false],
  ["a longer name", provider("example.org"), "evil-example.org", 443, false],
  ["a part of a wildcard", provider("*.example.org"), "a.b.example.org", 443, true],
  ["not the wildcard's own name", provider("*.example.org"), "example.org", 443, false],
  ["a named port", provider("127.0.0.1:4010"), "127.0.0.1", 4010, true],
  ["the port beside a named one", provider("127.0.0.1:4010"), "127.0.0.1", 4011, false],
  ["everything", open, "example.org", 5222, true],
] as const)("a policy lets a process ask for %s", ([, policy, host, port, allowed]) => {
  expect(decideHost({ host, port }, policy).allowed).toBe(allowed);
});

const own = ["203.0.113.7", "fd12::7"];
const never = [
  { host: "127.0.0.1", port: 3000 },
  { host: "198.51.100.9", port: 5432 },
];

test.for([
  "127.0.0.1",
  "127.9.9.9",
  "0.0.0.0",
  "::1",
  "::",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "10.1.2.3",
  "172.31.0.1",
  "192.168.1.1",
  "100.64.0.1",
  "169.254.169.254",
  "::ffff:169.254.169.254",
  "168.63.129.16",
  "100.100.100.200",
  "fe80::1%eth0",
  "fd00:ec2::254",
  "fd12::9",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
  "224.0.0.1",
  "255.255.255.255",
  "203.0.113.7",
  "fd12::7",
])("an address that is not public is refused, also to an open policy: %s", (address) => {
  expect(refusedAddress(address, 80, { isNamed: false, own, never })).toBeTypeOf("string");
});

test("public addresses are reached, and a named port opens what is not public", () => {
  for (const address of ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]) {
    expect(refusedAddress(address, 443, { isNamed: false, own, never })).toBeUndefined();
  }
  for (const address of ["127.0.0.1", "10.1.2.3", "203.0.113.7", "::1"]) {
    expect(refusedAddress(address, 4010, { isNamed: true, own, never })).toBeUndefined();
  }
});

test.for([
  ["dure's port on loopback", "127.0.0.1", 3000],
  ["dure's port on the other loopback", "::1", 3000],
  ["dure's port on a loopback address that has no name", "127.4.5.6", 3000],
  ["dure's port on the machine's own address", "203.0.113.7", 3000],
  ["dure's port in IPv6 clothes", "::ffff:127.0.0.1", 3000],
  ["the database on another machine", "198.51.100.9", 5432],
  ["the machine's metadata", "169.254.169.254", 80],
  ["the machine's metadata in IPv6 clothes", "::ffff:a9fe:a9fe", 80],
  ["the machine's metadata behind a translator", "64:ff9b::a9fe:a9fe", 80],
  ["Azure's host in IPv6 clothes", "::ffff:168.63.129.16", 80],
  ["Google's metadata over IPv6", "fd20:ce::254", 80],
  ["Oracle's metadata in its own range", "192.0.0.192", 80],
] as const)("whatever is named, a process never reaches %s", ([, address, port]) => {
  expect(refusedAddress(address, port, { isNamed: true, own, never })).toBeTypeOf("string");
});

test("an address of the web is read as the target that it leads to", () => {
  expect(
    [
      "https://api.example.org/v1",
      "http://[::1]:8080",
      "postgres://u:p@db:6000/x",
      "postgresql://db/x",
      "ftp://x",
      "no",
    ].map(targetOfUrl),
  ).toEqual([
    { host: "api.example.org", port: 443 },
    { host: "::1", port: 8080 },
    { host: "db", port: 6000 },
    { host: "db", port: 5432 },
    undefined,
    undefined,
  ]);
});
