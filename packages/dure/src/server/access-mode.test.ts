import { describe, expect, test } from "vitest";
import {
  accessText,
  decideAccess,
  decideLocal,
  forwardingHeader,
  type AccessFacts,
  type AccessMode,
  type Arrival,
} from "./access-mode.ts";

const alone: AccessFacts = {
  host: "127.0.0.1",
  loginAlways: false,
  hasEnvironmentToken: false,
  hasLivingToken: false,
  allowedHosts: [],
  trustProxy: [],
  namesPeers: true,
};

describe("who needs credentials", () => {
  test.for([
    [{}, "same-user", "no-token"],
    [
      { allowedHosts: ["localhost:4600", "dure.localhost", "127.0.0.1", "[::1]:4600"] },
      "same-user",
      "no-token",
    ],
    [{ host: "::1" }, "same-user", "no-token"],
    [{ loginAlways: true }, "credentials", "login-always"],
    [{ hasEnvironmentToken: true }, "credentials", "environment-token"],
    [{ host: "0.0.0.0" }, "credentials", "reachable-from-elsewhere"],
    [{ allowedHosts: ["localhost", "dure.example.com"] }, "credentials", "public-host"],
    [{ allowedHosts: ["192.168.0.5"] }, "credentials", "public-host"],
    [{ trustProxy: ["127.0.0.1"] }, "credentials", "behind-a-proxy"],
    [{ hasLivingToken: true }, "credentials", "token-exists"],
    [{ namesPeers: false }, "credentials", "peers-unknown"],
  ] as const)("%o: %s, because of %s", ([facts, mode, because]) => {
    const access = decideAccess({ ...alone, ...facts });

    expect(access).toEqual({ mode, because });
    expect(accessText(access)).toMatch(
      mode === "same-user" ? /^Without a token: only you/ : /^Every caller needs/,
    );
  });
});

describe("who counts as the person at the machine", () => {
  const open: AccessMode = { mode: "same-user", because: "no-token" };
  const arrival: Arrival = {
    isEmbedded: false,
    peerIsLoopback: true,
    httpVersion: "1.1",
    hostIsLoopback: true,
    forwardedBy: undefined,
  };

  test("a local connection of the server's own user, and no other", () => {
    const reasons = (["same-user", "other-user", "unknown"] as const).map((owner) =>
      decideLocal(open, arrival, owner),
    );

    expect(reasons).toEqual([
      { isLocal: true },
      { isLocal: false, because: "other-user" },
      { isLocal: false, because: "user-unknown" },
    ]);
  });

  test.for([
    [{ isEmbedded: true }, "embedded"],
    [{ peerIsLoopback: false }, "other-machine"],
    [{ forwardedBy: "via" }, "forwarded"],
    [{ httpVersion: "1.0" }, "http-1.0"],
    [{ hostIsLoopback: false }, "public-name"],
  ] as const)("with %o it is a stranger: %s", ([facts, because]) => {
    expect(decideLocal(open, { ...arrival, ...facts }, "same-user")).toEqual({
      isLocal: false,
      because,
    });
  });

  test("where credentials are needed, the reason is the server's own", () => {
    expect(
      decideLocal({ mode: "credentials", because: "token-exists" }, arrival, "same-user"),
    ).toEqual({ isLocal: false, because: "token-exists" });
  });

  test.for([
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forward-for",
    "x_forwarded_for",
    "front-end-https",
    "x-real-ip",
    "cf-connecting-ip",
    "cdn-loop",
    "x-envoy-external-address",
    "true-client-ip",
    "x-original-for",
    "tailscale-user-login",
  ])("%s is a proxy's", (name) => {
    expect(forwardingHeader({ host: "localhost", [name]: "x" })).toBe(name);
  });

  test("what browsers and curl send is no proxy's", () => {
    const names = [
      "host",
      "user-agent",
      "accept",
      "accept-language",
      "accept-encoding",
      "origin",
      "referer",
      "cookie",
      "connection",
      "cache-control",
      "pragma",
      "dnt",
      "sec-gpc",
      "priority",
      "te",
      "if-none-match",
      "upgrade-insecure-requests",
      "sec-fetch-site",
      "sec-ch-ua",
      "x-requested-with",
      "idempotency-key",
    ];

    expect(forwardingHeader(Object.fromEntries(names.map((name) => [name, "x"])))).toBeUndefined();
  });
});
