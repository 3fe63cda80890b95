import type { ChannelKind } from "../channel-kind.ts";
import { WebAdapter } from "./web-adapter.ts";

const WEB: ChannelKind = {
  name: "web",
  isLocal: true,
  open: ({ database }) => new WebAdapter({ database: database! }),
};

/** The rooms that dure serves itself: `rooms: { adapters: [web()] }`, in files `[web]`. */
export function web(): ChannelKind {
  return WEB;
}
