import { ActionIcon, Button, Loader, CloseButton } from "@mantine/core";
import { IconMenu2, IconPlugConnectedX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useRouter } from "@tanstack/react-router";
import { DureError, systemClock, type Me } from "dure/client";
import { useEffect, useState, type ReactNode, useRef } from "react";
import { meOf } from "./me.ts";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { lazyPart, readPart } from "../lazy-part.ts";
import { ErrorWords } from "../problem.tsx";
import { Prose } from "../prose.tsx";
import { TourBar, TourProvider } from "../start/tour.tsx";
import type { Attention } from "./attention.tsx";
import { shownBy, type OverPageKind } from "./find-keys.ts";
import { Brand, Sidebar } from "./sidebar.tsx";
import { useServerWatch } from "../server-watch.ts";

const Login = lazyPart("login", async () => (await import("./login.tsx")).Login);

/** How often an absent server is asked again, milliseconds. */
const ASK_AGAIN_MS = 3_000;
/** How long a page is shown before what it does not need is fetched, milliseconds. */
const LATER_MS = 1_500;

/** The frame around every page: who asks, where to go. */
export function Shell(): ReactNode {
  const { client } = useParts();
  const me = useQuery({
    ...meOf(client),
    refetchInterval: (query) =>
      query.state.status === "error" && !isLoginNeeded(query.state.error) ? ASK_AGAIN_MS : false,
  });

  if (me.data !== undefined && !isLoginNeeded(me.error)) {
    return (
      <TourProvider>
        <Frame me={me.data} />
      </TourProvider>
    );
  }
  if (isLoginNeeded(me.error)) return <Login />;
  if (me.isError) return <Unreachable error={me.error} onRetry={() => void me.refetch()} />;

  return (
    <main className="center-page">
      <Loader type="dots" role="status" aria-label="…" />
    </main>
  );
}

function Frame({ me }: { me: Me }): ReactNode {
  const text = useText();
  const [open, setOpen] = useState(false);
  const router = useRouter();
  useEffect(() => router.subscribe("onBeforeNavigate", () => setOpen(false)), [router]);

  return (
    <div className="shell">
      <a className="skip" href="#content">
        {text.shell.skipToContent}
      </a>
      <div className="shell-banners">
        <ServerBanner />
        <TourBar />
      </div>
      <nav aria-label={text.shell.appName}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={32}
          aria-label={text.shell.nav.open}
          onClick={() => setOpen(true)}
        >
          <IconMenu2 size={20} />
        </ActionIcon>
        <Brand />
      </nav>
      {open && (
        <MenuDrawer onClose={() => setOpen(false)}>
          <Sidebar me={me} />
        </MenuDrawer>
      )}
      <aside aria-label={text.shell.nav.label}>
        <Brand />
        <Sidebar me={me} />
      </aside>
      <main id="content" className="shell-main" tabIndex={-1}>
        <Outlet />
      </main>
      <Later />
    </div>
  );
}

/** What no page needs at first: it is fetched when the page has been shown. */
function Later(): ReactNode {
  const [found, setFound] = useState<{ readonly Part: typeof Attention }>();
  const [first, setFirst] = useState<OverPageKind>();
  useEffect(() => {
    if (found !== undefined) return undefined;
    const leaving = new AbortController();
    const { signal } = leaving;
    const read = (): void => {
      void readPart("attention", () => import("./attention.tsx")).then(
        ({ Attention: Part }) => !signal.aborted && setFound({ Part }),
        () => undefined, // no server: the page goes on without it until it is opened again
      );
    };
    const onKey = (event: KeyboardEvent): void => {
      const wanted = shownBy(event);
      if (wanted === undefined || event.isComposing) return;
      event.preventDefault();
      setFirst(wanted);
      read();
    };
    const cancel = systemClock.after(LATER_MS, read);
    window.addEventListener("keydown", onKey, { signal });
    return () => {
      leaving.abort();
      cancel();
    };
  }, [found]);
  return found === undefined ? null : <found.Part first={first} />;
}

/** The server did not answer, or could not say who is looking. */
function Unreachable({ error, onRetry }: { error: Error; onRetry: () => void }): ReactNode {
  const text = useText();
  const words = text.shell.connection;
  const hasAnswered = error instanceof DureError;
  return (
    <main className="center-page" role="alert">
      <IconPlugConnectedX size={36} stroke={1.4} className="soft" />
      <h1>{hasAnswered ? words.notNow : words.unreachable}</h1>
      {!hasAnswered && (
        <p className="soft">
          <Prose text={words.unreachableHint} />
        </p>
      )}
      <p className="soft small">
        <ErrorWords error={error} />
      </p>
      <Button variant="default" onClick={onRetry}>
        {text.common.retry}
      </Button>
    </main>
  );
}

function isLoginNeeded(error: Error | null): boolean {
  return error instanceof DureError && error.class === "unauthorized";
}

// --- menu drawer

/** The menu over the page of a narrow window. The browser keeps the focus in it. */
function MenuDrawer(props: { onClose: () => void; children: ReactNode }): ReactNode {
  const { onClose, children } = props;
  const { appName, nav } = useText().shell;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  useEffect(() => {
    const leaving = new AbortController();
    const onClick = (event: MouseEvent): void => {
      if (event.target === dialog.current) onClose(); // on the page behind
    };
    dialog.current?.addEventListener("click", onClick, { signal: leaving.signal });
    return () => leaving.abort();
  }, [onClose]);

  return (
    <dialog ref={dialog} className="menu-drawer" aria-label={appName} onClose={onClose}>
      <div className="menu-drawer-head">
        <Brand />
        <CloseButton aria-label={nav.close} onClick={onClose} />
      </div>
      {children}
    </dialog>
  );
}

// --- server banner

/** Says that saved files are not in force, that the server is gone, that it is back, and that it brought another release. */
function ServerBanner(): ReactNode {
  const words = useText().shell;
  const { standing, isOld, mistake } = useServerWatch();

  return (
    <div className="server-banner" role="status">
      {mistake !== undefined && (
        <p data-tone="gone">
          {words.mistake} {mistake}
        </p>
      )}
      {(standing === "gone" || standing === "starved") && (
        <p data-tone="gone">
          <IconPlugConnectedX size={17} aria-hidden />
          <span>{words.connection[standing]}</span>
        </p>
      )}
      {standing === "back" && !isOld && (
        <p data-tone="back">
          <span>{words.connection.back}</span>
        </p>
      )}
      {standing !== "gone" && isOld && (
        <p data-tone="release">
          <span>{words.release.isNew}</span>
          <Button size="compact-sm" variant="default" onClick={() => window.location.reload()}>
            {words.release.reload}
          </Button>
        </p>
      )}
    </div>
  );
}
