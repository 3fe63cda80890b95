import { ActionIcon, Button, Drawer, Loader } from "@mantine/core";
import { IconMenu2, IconPlugConnectedX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useRouter } from "@tanstack/react-router";
import { DureError, type Me } from "dure/client";
import { useEffect, useState, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { Prose } from "../prose.tsx";
import { TourBar, TourProvider } from "../start/tour.tsx";
import { ServerBanner } from "./server-banner.tsx";
import { Login } from "./login.tsx";
import { Brand, Sidebar } from "./sidebar.tsx";

/** How often an absent server is asked again, milliseconds. */
const ASK_AGAIN_MS = 3_000;

/** The frame around every page: who asks, where to go. */
export function Shell(): ReactNode {
  const { client } = useParts();
  const me = useQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => client.me({ signal }),
    staleTime: 60_000,
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
      <nav className="shell-top" aria-label={text.shell.appName}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={text.shell.nav.open}
          onClick={() => setOpen(true)}
        >
          <IconMenu2 size={20} />
        </ActionIcon>
        <Brand />
      </nav>
      <Drawer
        opened={open}
        onClose={() => setOpen(false)}
        size={292}
        padding={0}
        title={<Brand />}
        closeButtonProps={{ "aria-label": text.shell.nav.close }}
        classNames={{ content: "drawer-side" }}
      >
        <Sidebar me={me} />
      </Drawer>
      <aside className="shell-side" aria-label={text.shell.nav.label}>
        <Brand />
        <Sidebar me={me} />
      </aside>
      <main id="content" className="shell-main" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}

function Unreachable({ error, onRetry }: { error: Error; onRetry: () => void }): ReactNode {
  const text = useText();
  return (
    <main className="center-page" role="alert">
      <IconPlugConnectedX size={36} stroke={1.4} className="soft" />
      <h1>{text.shell.connection.unreachable}</h1>
      <p className="soft">
        <Prose text={text.shell.connection.unreachableHint} />
      </p>
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
