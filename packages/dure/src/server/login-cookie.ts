/**
 * The cookie of a login. Its name holds the port: browsers keep one jar for all ports of a machine.
 * Source: RFC 6265 §8.5.
 */
const NAME = "dure_session";
/**
 * A browser takes such a cookie over https alone, for this host alone. Source: RFC 6265bis
 * §4.1.3.2.
 */
const HOST_PREFIX = "__Host-";

/**
 * `Set-Cookie` for a login; an empty value ends it. It lives as long as the browser; the server
 * ends it before. Pure.
 */
export function loginCookie(
  value: string,
  { host, isSecure }: { host: string | undefined; isSecure: boolean },
): string {
  const name = `${isSecure ? HOST_PREFIX : ""}${nameFor(host)}`;
  const flags = [
    "Path=/",
    "HttpOnly",
    "SameSite=Strict",
    ...(isSecure ? ["Secure"] : []),
    ...(value === "" ? ["Max-Age=0"] : []),
  ];

  return `${name}=${value}; ${flags.join("; ")}`;
}

/**
 * The value of a login's cookie. Over https only the one counts that another site of the host
 * cannot have set. Pure.
 */
export function readLoginCookie(
  header: string | undefined,
  { host, isSecure }: { host: string | undefined; isSecure: boolean },
): string | undefined {
  const name = nameFor(host);
  const names = isSecure ? [HOST_PREFIX + name] : [HOST_PREFIX + name, name];
  const pairs = (header ?? "").split(";").map((pair) => pair.trim());

  for (const wanted of names) {
    const pair = pairs.find((one) => one.startsWith(`${wanted}=`));
    if (pair !== undefined) return pair.slice(wanted.length + 1);
  }

  return undefined;
}

function nameFor(host: string | undefined): string {
  const port = /:(\d{1,5})$/.exec(host ?? "")?.[1];
  return port === undefined ? NAME : `${NAME}_${port}`;
}
