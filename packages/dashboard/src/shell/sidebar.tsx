import { Button, useMantineColorScheme } from "@mantine/core";
import {
  IconActivity,
  IconArrowsExchange,
  IconClipboardList,
  IconCoins,
  IconDeviceDesktop,
  IconHome,
  IconInbox,
  IconLogout,
  IconMessageCircle,
  IconMessages,
  IconMoon,
  IconSitemap,
  IconSun,
  IconTimeline,
  IconUsers,
} from "@tabler/icons-react";
import { Link, useRouterState } from "@tanstack/react-router";
import { codeOf, type Me } from "dure/client";
import { Suspense, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { Choice } from "../choice.tsx";
import { useLanguage, useText } from "../language.tsx";
import { lazyPart } from "../lazy-part.ts";
import { useRoomList, useSpeaker } from "../rooms/use-rooms.ts";
import { useAsked } from "../asked.ts";

/** In the order of the menu. */
const PAGES = [
  { to: "/", words: "start", Icon: IconHome },
  { to: "/rooms", words: "rooms", Icon: IconMessages },
  { to: "/jobs", words: "jobs", Icon: IconArrowsExchange },
  { to: "/plans", words: "plans", Icon: IconSitemap },
  { to: "/agents", words: "agents", Icon: IconUsers },
  { to: "/chat", words: "chat", Icon: IconMessageCircle },
  { to: "/escalations", words: "escalations", Icon: IconInbox },
  { to: "/traces", words: "traces", Icon: IconTimeline },
  { to: "/events", words: "events", Icon: IconActivity },
  { to: "/costs", words: "costs", Icon: IconCoins },
  { to: "/audit", words: "audit", Icon: IconClipboardList },
] as const;

const SessionList = lazyPart(
  "session-list",
  async () => (await import("../chat/session-list.tsx")).SessionList,
);
const RoomList = lazyPart(
  "room-list",
  async () => (await import("../rooms/room-list.tsx")).RoomList,
);

const FOR_ADMINISTRATORS: readonly string[] = ["/costs", "/audit"];

export function Sidebar({ me }: { me: Me }): ReactNode {
  const text = useText();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const { who } = useSpeaker();
  const rooms = useRoomList(who);
  const isNameTaken = codeOf(rooms.error) === "PERSON_INVALID"; // the page Rooms says so
  const hasRooms = (rooms.data?.length ?? 0) > 0 || isNameTaken || path.startsWith("/rooms");
  const isAdmin = me.scopes.includes("admin");

  const pages = PAGES.filter(
    ({ to }) =>
      (hasRooms || (to !== "/rooms" && to !== "/jobs" && to !== "/agents")) &&
      (isAdmin || !FOR_ADMINISTRATORS.includes(to)),
  );

  return (
    <div className="side">
      <nav className="side-nav" aria-label={text.shell.nav.label}>
        {pages.map(({ to, words, Icon }) => (
          <Link
            key={to}
            to={to}
            className="nav-item soft"
            data-active={isAt(path, to) || undefined}
            aria-current={isAt(path, to) ? "page" : undefined}
          >
            <Icon size={18} stroke={1.7} aria-hidden />
            {text.shell.nav[words]}
            {to === "/rooms" && !path.startsWith("/rooms") && (
              <Unread count={rooms.data?.reduce((sum, room) => sum + (room.unread ?? 0), 0) ?? 0} />
            )}
            {to === "/escalations" && <Waiting />}
          </Link>
        ))}
      </nav>
      <div className="side-middle">
        <Suspense>
          {path.startsWith("/chat") && <SessionList />}
          {path.startsWith("/rooms") && <RoomList />}
        </Suspense>
      </div>
      <Keys />
      <Settings me={me} />
    </div>
  );
}

const IS_APPLE = /Mac/.test(navigator.platform);

/** Keys that a reader would not guess; pressed, they do what the key does. */
function Keys(): ReactNode {
  const { find, keys } = useText().shell;
  return (
    <p className="side-keys">
      <button type="button" onClick={() => press("k")}>
        <kbd aria-hidden>{IS_APPLE ? "⌘K" : "Ctrl K"}</kbd> {find}
      </button>
      <button type="button" onClick={() => press("?")}>
        <kbd aria-hidden>?</kbd> {keys}
      </button>
    </p>
  );
}

function press(key: string): void {
  window.dispatchEvent(new KeyboardEvent("keydown", { key, ctrlKey: key === "k" }));
}

function isAt(path: string, page: string): boolean {
  return page === "/" ? path === page : path.startsWith(page);
}

function Unread({ count }: { count: number }): ReactNode {
  const text = useText();
  if (count === 0) return null;

  return (
    <span className="badge count end solid">
      <span aria-hidden>{count > 99 ? "99+" : count}</span>
      <span className="hidden-words">{text.rooms.unread({ count })}</span>
    </span>
  );
}

/**
 * How many questions wait; asked again every so often, because most of them are raised where this
 * page does not look.
 */
function Waiting(): ReactNode {
  const text = useText();

  const open = useAsked(
    ["escalations", "open"],
    (client, signal) => client.escalations({ status: "open", limit: 100 }, { signal }),
    {
      refetchInterval: WAITING_EVERY_MS,
    },
  );

  const count = open.data?.items.length ?? 0;
  if (count === 0) return null;

  return (
    <span className="badge count end warns">
      <span aria-hidden>{count > 99 ? "99+" : count}</span>
      <span className="hidden-words">{text.shell.waiting({ count })}</span>
    </span>
  );
}

const WAITING_EVERY_MS = 20_000;

export function Brand(): ReactNode {
  return (
    <Link to="/" className="brand">
      <img src="/mark.svg" alt="" width={26} height={26} />
      <span lang="ko">두레</span>
      <small>dure</small>
    </Link>
  );
}

function Settings({ me }: { me: Me }): ReactNode {
  const { language, text, choose } = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { client, drafts } = useParts();

  const leave = async (): Promise<void> => {
    await client.logout();
    drafts.forgetAll();
    window.location.assign("/"); // a fresh page holds nothing of what was seen
  };

  return (
    <div className="side-settings">
      <Choice
        label={text.shell.settings.scheme}
        value={colorScheme}
        onChoose={setColorScheme}
        options={[
          {
            value: "light",
            label: <SchemeIcon Icon={IconSun} label={text.shell.settings.light} />,
          },
          { value: "dark", label: <SchemeIcon Icon={IconMoon} label={text.shell.settings.dark} /> },
          {
            value: "auto",
            label: <SchemeIcon Icon={IconDeviceDesktop} label={text.shell.settings.auto} />,
          },
        ]}
      />
      <Choice
        label={text.shell.settings.language}
        value={language}
        onChoose={choose}
        options={[
          { value: "ko", label: <span lang="ko">한국어</span> },
          { value: "en", label: <span lang="en">English</span> },
        ]}
      />
      {me.auth === "token" && (
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          leftSection={<IconLogout size={15} />}
          onClick={() => void leave()}
        >
          {text.shell.settings.logout}
        </Button>
      )}
    </div>
  );
}

function SchemeIcon({ Icon, label }: { Icon: typeof IconSun; label: string }): ReactNode {
  return (
    <span className="scheme-icon" title={label}>
      <Icon size={15} aria-hidden />
      <span className="hidden-words">{label}</span>
    </span>
  );
}
