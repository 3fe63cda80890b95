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
import "./app.css";
import { MantineProvider } from "@mantine/core";
import { QueryCache, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { DureClient, DureError, systemClock } from "dure/client";
import { DureHub, DureProvider, roomOf } from "dure/react";
import { startTransition } from "react";
import { createRoot } from "react-dom/client";
import { AppPartsContext } from "./app-parts.tsx";
import { Drafts } from "./drafts.ts";
import { EventLog } from "./events/event-log.ts";
import { FreshQueries } from "./fresh-queries.ts";
import { LanguageProvider, firstSpoken } from "./language.tsx";
import { watchSheets } from "./lazy-part.ts";
import { inOwnTask } from "./own-task.ts";
import { PersonName } from "./rooms/person-name.ts";
import { RoomData } from "./rooms/room-data.ts";
import { RoomPosts } from "./rooms/room-posts.ts";
import { router } from "./router.tsx";
import { LoginLink } from "./shell/login-link.ts";
import { serverClock } from "./server-clock.ts";
import { serverWatch } from "./server-watch.ts";
import { meOf } from "./shell/me.ts";
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
const client = new DureClient({
  baseUrl: "",
  fetch: personName.around(inOwnTask(serverWatch.around(serverClock.fetch))),
  reconnect: { attempts: 720 }, // an hour: the banner tells of it meanwhile
});
const onChange = (): void => {
  for (const queryKey of [["sessions"], ["escalations"]]) {
    void queries.invalidateQueries({ queryKey });
  }
};
const hub = new DureHub({ client, onChange });
const eventLog = new EventLog({ client });
const roomData = new RoomData({ hub, queries });
const roomPosts = new RoomPosts({
  client,
  onPosted: (who, place) => roomOf(hub, place, who).grow(),
});
const drafts = new Drafts();
const whole = new AbortController(); // as long as the page
watchSheets(whole.signal);
serverWatch.subscribe(() => {
  const { standing } = serverWatch.snapshot();
  document.documentElement.dataset["server"] = standing;
  if (standing === "back") void queries.invalidateQueries();
});
void serverWatch.run(whole.signal);

/** Longest that the first words of the document stand alone, milliseconds. */
const FIRST_WORDS_MS = 3_000;

const page = (
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
            eventLog,
            roomData,
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
const paper = createRoot(document.getElementById("root")!);

/**
 * What the page is drawn with stands ready before it takes the place of the first words: else they
 * would vanish, and come again. What fails is told by the page.
 */
void Promise.race([
  Promise.allSettled([firstSpoken, router.load(), queries.prefetchQuery(meOf(client))]),
  systemClock.sleep(FIRST_WORDS_MS),
]).then(() => startTransition(() => paper.render(page))); // in slices: keys are heard meanwhile
