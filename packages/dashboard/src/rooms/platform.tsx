import {
  IconBrandDiscord,
  IconBrandSlack,
  IconPlugConnected,
  IconWorld,
  type IconProps,
} from "@tabler/icons-react";
import type { ReactNode } from "react";

const NAMES: Readonly<Record<string, string>> = { discord: "Discord", slack: "Slack" };
const ICONS: Readonly<Record<string, typeof IconWorld>> = {
  discord: IconBrandDiscord,
  slack: IconBrandSlack,
  web: IconWorld,
};

/** A platform as its people write it; `web`: what the reader calls rooms of this page. Pure. */
export function platformName(adapter: string, web = "web"): string {
  return adapter === "web" ? web : (NAMES[adapter] ?? adapter);
}

/** The mark of a platform; its name stands beside it. */
export function PlatformIcon({
  adapter,
  ...props
}: Omit<IconProps, "ref"> & { readonly adapter: string }): ReactNode {
  const Icon = ICONS[adapter] ?? IconPlugConnected;
  return <Icon stroke={1.7} aria-hidden {...props} />;
}
