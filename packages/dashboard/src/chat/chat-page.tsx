import { ActionIcon, Button, Drawer, Loader } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconLayoutSidebarRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import {
  ulid,
  type DureError,
  type MessageRequest,
  type ServiceInfo,
  type SlotInfo,
} from "dure/client";
import { useEffect, useMemo, useState, useSyncExternalStore, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { SidePanel } from "../panel/side-panel.tsx";
import "./chat.css";
import { Composer } from "./composer.tsx";
import type { Conversation } from "./conversation.ts";
import { MessageList } from "./message-list.tsx";
import { Welcome } from "./welcome.tsx";

/** `/chat` begins a conversation, `/chat/<session>` goes on with one. */
export function ChatPage(): ReactNode {
  const { session } = useParams({ strict: false });
  const { conversations } = useParts();
  const fresh = useMemo(() => (session === undefined ? `web-${ulid()}` : session), [session]);
  const conversation = useMemo(
    () => conversations.open(fresh, session !== undefined),
    [conversations, fresh, session],
  );
  return <Chat key={fresh} conversation={conversation} isNew={session === undefined} />;
}

function Chat({ conversation, isNew }: { conversation: Conversation; isNew: boolean }): ReactNode {
  const { text, language } = useLanguage();
  const { client } = useParts();
  const navigate = useNavigate();
  const view = useSyncExternalStore(conversation.subscribe, conversation.snapshot);
  const services = useQuery({
    queryKey: ["services"],
    queryFn: ({ signal }) => client.services({ signal }),
    staleTime: 60_000,
  });
  const [chosen, setChosen] = useState<string>();
  const service = serviceOf(services.data ?? [], view.service ?? chosen);
  const wide = useMediaQuery("(min-width: 75em)", window.matchMedia("(min-width: 75em)").matches, {
    getInitialValueInEffect: false,
  });
  const [panelOpen, setPanelOpen] = useState(false);
  const [panelHidden, setPanelHidden] = useState(false);

  const title =
    view.entries.find((entry) => entry.role === "user")?.content ?? text.chat.sessions.start;
  useEffect(() => {
    document.title = `${title.slice(0, 60)} · dure`;
  }, [title]);

  const send = (message: string, extra: Pick<MessageRequest, "confirmId" | "slots"> = {}): void => {
    conversation.send(message, {
      ...extra,
      locale: language,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      service: view.service ?? service?.name,
    });
    if (isNew) {
      void navigate({
        to: "/chat/$session",
        params: { session: conversation.sessionId },
        replace: true,
      });
    }
  };

  const panel = (
    <SidePanel
      conversation={conversation}
      view={view}
      service={service}
      onSlots={(words, slots) => send(words, { slots })}
    />
  );
  const begins = view.phase === "new" && view.entries.length === 0;
  return (
    <div className="chat" data-panel={(wide && !panelHidden && !begins) || undefined}>
      <section className="chat-main" aria-label={text.chat.pageTitle}>
        <header className="chat-head">
          <h1 className="chat-title">{begins ? text.chat.sessions.start : title}</h1>
          {service !== undefined && !begins && (
            <span className="chat-service">{service.title ?? service.name}</span>
          )}
          {!begins && (
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              aria-label={wide && !panelHidden ? text.chat.closeDetails : text.chat.details}
              aria-expanded={wide ? !panelHidden : panelOpen}
              onClick={() => (wide ? setPanelHidden(!panelHidden) : setPanelOpen(true))}
            >
              <IconLayoutSidebarRight size={19} stroke={1.7} />
            </ActionIcon>
          )}
        </header>
        {view.phase === "loading" ? (
          <div className="chat-wait">
            <Loader type="dots" role="status" aria-label={text.chat.loading} />
          </div>
        ) : view.phase === "broken" ? (
          <Broken problem={view.problem} onRetry={() => void conversation.load()} />
        ) : begins ? (
          <Welcome
            services={services.data ?? []}
            service={service}
            onChoose={setChosen}
            onSend={(message) => send(message)}
          />
        ) : (
          <MessageList
            view={view}
            conversation={conversation}
            slots={service?.slots ?? NO_SLOTS}
            onSend={send}
          />
        )}
        {view.phase !== "loading" && view.phase !== "broken" && (
          <Composer
            running={view.turn !== undefined}
            stopping={view.turn?.stopping ?? false}
            onSend={(message) => send(message)}
            onStop={() => void conversation.stop()}
          />
        )}
      </section>
      {wide && !panelHidden && !begins && (
        <aside className="chat-panel" aria-label={text.panel.label}>
          {panel}
        </aside>
      )}
      {!wide && (
        <Drawer
          opened={panelOpen}
          onClose={() => setPanelOpen(false)}
          position="right"
          size="min(100vw, 400px)"
          title={text.panel.label}
          closeButtonProps={{ "aria-label": text.chat.closeDetails }}
          classNames={{ content: "drawer-panel" }}
        >
          {panel}
        </Drawer>
      )}
    </div>
  );
}

function Broken({
  problem,
  onRetry,
}: {
  problem: DureError | undefined;
  onRetry: () => void;
}): ReactNode {
  const text = useText();
  return (
    <div className="chat-wait" role="alert">
      <p>{text.chat.loadFailed}</p>
      {problem && (
        <p className="soft small">
          <ErrorWords error={problem} />
        </p>
      )}
      <Button variant="default" onClick={onRetry}>
        {text.common.retry}
      </Button>
    </div>
  );
}

const NO_SLOTS: readonly SlotInfo[] = [];

function serviceOf(
  services: readonly ServiceInfo[],
  name: string | undefined,
): ServiceInfo | undefined {
  return (
    services.find((service) => service.name === name) ??
    (name === undefined ? (services.find((service) => service.default) ?? services[0]) : undefined)
  );
}
