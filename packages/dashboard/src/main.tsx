import "@mantine/core/styles/baseline.css";
import "@mantine/core/styles/default-css-variables.css";
import "@mantine/core/styles/global.css";
import "@mantine/core/styles/ScrollArea.css";
import "@mantine/core/styles/UnstyledButton.css";
import "@mantine/core/styles/VisuallyHidden.css";
import "@mantine/core/styles/Paper.css";
import "@mantine/core/styles/Popover.css";
import "@mantine/core/styles/CloseButton.css";
import "@mantine/core/styles/Loader.css";
import "@mantine/core/styles/Overlay.css";
import "@mantine/core/styles/ModalBase.css";
import "@mantine/core/styles/Combobox.css";
import "@mantine/core/styles/Input.css";
import "@mantine/core/styles/InlineInput.css";
import "@mantine/core/styles/ActionIcon.css";
import "@mantine/core/styles/Button.css";
import "@mantine/core/styles/Modal.css";
import "@mantine/core/styles/Drawer.css";
import "@mantine/core/styles/FloatingIndicator.css";
import "@mantine/core/styles/SegmentedControl.css";
import "@mantine/core/styles/Tabs.css";
import "@mantine/core/styles/Tooltip.css";
import "virtual:theme.css";
import "./base.css";
import "./primitives.css";
import "./app.css";
import { MantineProvider } from "@mantine/core";
import { QueryCache, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { DureClient, DureError, systemClock } from "dure/client";
import { DureHub, DureProvider } from "dure/react";
import { startTransition, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { AppPartsContext } from "./app-parts.tsx";
import { Drafts } from "./drafts.ts";
import { FreshQueries } from "./fresh-queries.ts";
import { LanguageProvider, firstSpoken } from "./language.tsx";
import { inOwnTask, nextTask } from "./own-task.ts";
import { PersonName } from "./rooms/person-name.ts";
import { RoomPosts } from "./rooms/room-posts.ts";
import { makeRouter, type Router } from "./router.tsx";
import { LoginLink } from "./shell/login-link.ts";
import { serverClock } from "./server-clock.ts";
import { serverWatch } from "./server-watch.ts";
import { meOf } from "./shell/me.ts";
import { TabStreams } from "./tab-streams.ts";
import { theme } from "./theme.ts";

const loginLink = new LoginLink();
/**
 * A login that has ended shows where anything is asked: then the page looks who one is, and asks to
 * log in again.
 */
const queryCache = new QueryCache({
  onError: (error, query) => {
    const isRefused = error instanceof DureError && error.class === "unauthorized";
    if (isRefused && query.queryKey[0] !== "me") {
      void queries.invalidateQueries({ queryKey: ["me"] });
    }
  },
});
const queries: FreshQueries = new FreshQueries({
  queryCache,
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What the server refused stays refused; only an absent server is asked again.
      retry: (count, error) =>
        count < 2 && !(error instanceof DureError && error.class !== "unavailable"),
    },
  },
});
const personName = new PersonName();
const tabStreams = new TabStreams(systemClock);
const client = new DureClient({
  baseUrl: "",
  fetch: tabStreams.around(personName.around(inOwnTask(serverWatch.around(serverClock.fetch)))),
  reconnect: { attempts: 720 }, // an hour: the banner tells of it meanwhile
});
const onChange = (): void => {
  for (const queryKey of [["sessions"], ["escalations"]]) {
    void queries.invalidateQueries({ queryKey });
  }
};
const hub = new DureHub({ client, onChange });
const roomPosts = new RoomPosts(client);
const drafts = new Drafts();
const whole = new AbortController(); // as long as the page
serverWatch.subscribe(() => {
  const { standing } = serverWatch.snapshot();
  document.documentElement.dataset["server"] = standing;
  if (standing !== "back") return;
  void queries.invalidateQueries();
  roomPosts.retryLost();
});
void serverWatch.run(whole.signal);
tabStreams.watch(whole.signal);

/** Longest that the first words of the document stand alone, milliseconds. */
const FIRST_WORDS_MS = 3_000;

/**
 * What the page is drawn with stands ready before it takes the place of the first words: else they
 * would vanish, and come again. What fails is told by the page. Each step in a task of its own.
 */
async function start(): Promise<void> {
  await nextTask();
  const me = queries.prefetchQuery(meOf(client));
  await nextTask();
  const router = makeRouter();
  await nextTask();
  const all = Promise.allSettled([firstSpoken, router.load(), me]);
  await Promise.race([all, systemClock.sleep(FIRST_WORDS_MS)]);
  const paper = createRoot(document.getElementById("root")!);
  await nextTask();
  startTransition(() => paper.render(pageOf(router))); // in slices: keys are heard meanwhile
}

function pageOf(router: Router): ReactNode {
  return (
    <MantineProvider
      theme={theme}
      withCssVariables={false}
      withGlobalClasses={false}
      defaultColorScheme="auto"
    >
      <LanguageProvider>
        <QueryClientProvider client={queries}>
          <AppPartsContext
            value={{
              client,
              hub,

              roomPosts,
              drafts,
              personName,
              loginLink,
            }}
          >
            <DureProvider hub={hub}>
              <RouterProvider router={router} />
            </DureProvider>
          </AppPartsContext>
        </QueryClientProvider>
      </LanguageProvider>
    </MantineProvider>
  );
}

void start();
