import { lstatSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** Where a system keeps its programs. Read-only inside; nothing here is a person's. */
export const SYSTEM_PROGRAMS = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/nix/store",
  "/gnu/store",
] as const;

/**
 * Of /etc what programs ask for: names, time, certificates, the dynamic linker, settings of
 * languages. Every other name of it is absent. Source: what Debian, Fedora and Alpine have there.
 */
const SYSTEM_SETTINGS = [
  "ImageMagick-6",
  "ImageMagick-7",
  "R",
  "alpine-release",
  "alternatives",
  "bash.bashrc",
  "bashrc",
  "ca-certificates",
  "ca-certificates.conf",
  "crypto-policies/back-ends",
  "debian_version",
  "fedora-release",
  "fonts",
  "gai.conf",
  "gitconfig",
  "group",
  "host.conf",
  "hostname",
  "hosts",
  "inputrc",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "locale.alias",
  "locale.conf",
  "localtime",
  "login.defs",
  "lsb-release",
  "magic",
  "magic.mime",
  "maven",
  "mime.types",
  "mtab",
  "networks",
  "nsswitch.conf",
  "os-release",
  "passwd",
  "perl",
  "php",
  "pki/ca-trust/extracted",
  "pki/java",
  "pki/tls/cert.pem",
  "pki/tls/certs",
  "pki/tls/openssl.cnf",
  "profile",
  "profile.d",
  "protocols",
  "python",
  "redhat-release",
  "resolv.conf",
  "rpc",
  "services",
  "sgml",
  "shells",
  "ssl/cert.pem",
  "ssl/certs",
  "ssl/openssl.cnf",
  "system-release",
  "terminfo",
  "timezone",
  "xml",
] as const;
/** Settings whose names have a version in them. */
const VERSIONED = /^(?:java-[\w.-]+-openjdk|java|python\d[\d.]*|ld-musl-[\w-]+\.path)$/;
/** Settings of package managers: shown unless a login stands in them. */
const PACKAGE_SETTINGS = ["npmrc", "pip.conf", "yarnrc", "gemrc"];
const LOGIN = /_auth|password|token|:\/\/[^/\s]*@/i;

/** What is shown of /etc here. Absolute paths, links among them. */
export function systemSettings(): readonly string[] {
  const versioned = namesIn("/etc").filter((name) => VERSIONED.test(name));
  const packages = PACKAGE_SETTINGS.filter((name) => holdsNoLogin(path.join("/etc", name)));
  return [...SYSTEM_SETTINGS, ...versioned, ...packages].map((name) => path.join("/etc", name));
}

function holdsNoLogin(file: string): boolean {
  try {
    return lstatSync(file).isFile() && !LOGIN.test(readFileSync(file, "utf8"));
  } catch {
    return false;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // it is not there, or not for us
  }
}
