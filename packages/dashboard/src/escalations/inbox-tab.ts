/**
 * The tab of the inbox stands in the address, so that it is there again after a reload. Apart from
 * the page, which is loaded when it is opened.
 */
export function readInboxTab(search: Readonly<Record<string, unknown>>): { tab?: "history" } {
  return search["tab"] === "history" ? { tab: "history" } : {};
}
