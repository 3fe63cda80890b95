import { ActionIcon, Button, Drawer, Loader } from "@mantine/core";
import { IconLayoutSidebarRight, IconArrowUp } from "@tabler/icons-react";
import { useNavigate, useParams } from "@tanstack/react-router";
import { ulid, type DureError, type ServiceInfo, type SlotInfo } from "dure/client";
import {
  useTurn,
  type Conversation,
  type ConversationView,
  type Entry,
  type SentWith,
} from "dure/react";
import { useMemo, useState, type ReactNode } from "react";
import { useLanguage, useText } from "../language.tsx";
import { useSide, type Side } from "../side.ts";
import { ErrorWords, type Trouble, Problem } from "../problem.tsx";
import { SidePanel } from "../panel/side-panel.tsx";
import "./chat.css";
import { Composer } from "./composer.tsx";
import { inLanguage } from "./service-words.ts";
import { MessageList } from "./message-list.tsx";
import { useAsked } from "../asked.ts";
import { usePageTitle } from "../whole-page.tsx";

/** `/chat` begins a conversation, `/chat/<session>` goes on with one. */
export function ChatPage(): ReactNode {
  const { session } = useParams({ strict: false });
  const fresh = useMemo(() => (session === undefined ? `web-${ulid()}` : session), [session]);

  return (
    <Chat
      key={fresh}
      sessionId={fresh}
      isNew={session === undefined}
      place={`chat/${session ?? ""}`}
    />
  );
}

/** As the list of conversations has it: the first words, or the first file. */
function titleOf(entry: Entry | undefined): string | undefined {
  return entry?.content || entry?.files?.[0]?.name;
}

interface ChatProps {
  readonly sessionId: string;
  readonly isNew: boolean;
  /** Under this name an unfinished message is kept. */
  readonly place: string;
}

function Chat({ sessionId, isNew, place }: ChatProps): ReactNode {
  const { text } = useLanguage();
  const { conversation, ...view } = useTurn(sessionId, { exists: !isNew });
  const { services, service, isRead, onChoose, trouble } = useService(view.service);
  const send = useSend({ conversation, isNew, service: view.service ?? service?.name });
  const side = useSide();
  const begins = view.phase === "new" && view.entries.length === 0;
  const hasColumn = side.isColumn && !begins;
  const title = titleOf(view.entries.find(({ role }) => role === "user"));
  usePageTitle((title ?? text.chat.sessions.start).slice(0, 60));

  const panel = (
    <SidePanel
      conversation={conversation}
      view={view}
      service={service}
      onSlots={(words, slots) => send(words, { slots })}
    />
  );

  const hasEntries = view.phase !== "loading" && view.phase !== "broken";

  return (
    <div className="chat split" data-panel={hasColumn || undefined}>
      <section className="column flush" aria-label={text.chat.pageTitle}>
        <ChatHead
          title={begins ? undefined : title}
          service={service}
          begins={begins}
          side={side}
        />
        {begins ? (
          <Welcome
            services={services}
            service={service}
            isRead={isRead}
            trouble={trouble}
            onChoose={onChoose}
            onSend={(message) => send(message)}
          />
        ) : (
          <Said view={view} conversation={conversation} service={service} onSend={send} />
        )}
        {hasEntries && (
          <Composer
            sessionId={sessionId}
            place={place}
            running={view.turn !== undefined}
            stopping={view.turn?.stopping ?? false}
            onSend={(message, files) => send(message, { files })}
            onStop={() => void conversation.stop()}
          />
        )}
      </section>
      <ChatSide side={side} hasColumn={hasColumn}>
        {panel}
      </ChatSide>
    </div>
  );
}

type Send = (message: string, extra?: Pick<SentWith, "confirmId" | "slots" | "files">) => void;

/** The services, and the one that is spoken with: the conversation's, else the chosen one. */
function useService(name: string | undefined): {
  readonly services: readonly ServiceInfo[];
  readonly isRead: boolean;
  readonly service: ServiceInfo | undefined;
  readonly onChoose: (name: string) => void;
  /** They could not be read. */
  readonly trouble: Trouble | undefined;
} {
  const {
    data = NO_SERVICES,
    isPending,
    error,
    refetch,
  } = useAsked(["services"], (client, signal) => client.services({ signal }), {
    staleTime: 60_000,
  });

  const [chosen, setChosen] = useState<string>();
  const { language } = useLanguage();
  const services = useMemo(
    () => data.map((service) => inLanguage(service, language)),
    [data, language],
  );

  const service = serviceOf(services, name ?? chosen);
  const trouble = error === null ? undefined : { error, onRetry: () => void refetch() };
  return { services, service, isRead: !isPending, onChoose: setChosen, trouble };
}

/** Sends a message; the first one of a conversation gives it its address. */
function useSend({
  conversation,
  isNew,
  service,
}: {
  conversation: Conversation;
  isNew: boolean;
  service: string | undefined;
}): Send {
  const navigate = useNavigate();

  return (message, extra = {}) => {
    conversation.send(message, {
      ...extra,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      service,
    });

    if (!isNew) return;

    void navigate({
      to: "/chat/$session",
      params: { session: conversation.sessionId },
      replace: true,
    });
  };
}

function ChatHead({
  title,
  service,
  begins,
  side,
}: {
  title: string | undefined;
  service: ServiceInfo | undefined;
  begins: boolean;
  side: Side;
}): ReactNode {
  const { text } = useLanguage();
  return (
    <header className="chat-head row bar">
      <h1 className="clip">{title ?? text.chat.sessions.start}</h1>
      {service !== undefined && !begins && (
        <span className="badge">{service.title ?? service.name}</span>
      )}
      {!begins && (
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={side.isColumn ? text.chat.closeDetails : text.chat.details}
          aria-expanded={side.isWide ? side.isColumn : side.isDrawerOpen}
          onClick={side.toggle}
        >
          <IconLayoutSidebarRight size={19} stroke={1.7} />
        </ActionIcon>
      )}
    </header>
  );
}

/** What was said, or that it comes, or that it could not be read. */
function Said({
  view,
  conversation,
  service,
  onSend,
}: {
  view: ConversationView;
  conversation: Conversation;
  service: ServiceInfo | undefined;
  onSend: Send;
}): ReactNode {
  const { text } = useLanguage();
  if (view.phase === "loading") {
    return (
      <div className="center-page grow">
        <Loader type="dots" role="status" aria-label={text.chat.loading} />
      </div>
    );
  }

  if (view.phase === "broken") {
    return <Broken problem={view.problem} onRetry={() => void conversation.load()} />;
  }

  return (
    <MessageList
      view={view}
      conversation={conversation}
      slots={service?.slots ?? NO_SLOTS}
      onSend={onSend}
    />
  );
}

function ChatSide({
  side,
  hasColumn,
  children,
}: {
  side: Side;
  hasColumn: boolean;
  children: ReactNode;
}): ReactNode {
  const { text } = useLanguage();
  if (!side.isWide) {
    return (
      <Drawer
        opened={side.isDrawerOpen}
        onClose={side.closeDrawer}
        position="right"
        size="min(100vw, 400px)"
        title={text.panel.label}
        closeButtonProps={{ "aria-label": text.chat.closeDetails }}
        classNames={{ content: "drawer-panel column flush" }}
      >
        {children}
      </Drawer>
    );
  }

  return (
    hasColumn && (
      <aside className="aside column flush" aria-label={text.panel.label}>
        {children}
      </aside>
    )
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
    <div className="center-page grow" role="alert">
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
const NO_SERVICES: readonly ServiceInfo[] = [];

function serviceOf(
  services: readonly ServiceInfo[],
  name: string | undefined,
): ServiceInfo | undefined {
  return (
    services.find((service) => service.name === name) ??
    (name === undefined ? (services.find((service) => service.default) ?? services[0]) : undefined)
  );
}

// --- welcome

/** What a new conversation can begin with. */
function Welcome(props: {
  services: readonly ServiceInfo[];
  service: ServiceInfo | undefined;
  /** Before, nothing is shown: what comes would move it. */
  isRead: boolean;
  trouble: Trouble | undefined;
  onChoose: (name: string) => void;
  onSend: (message: string) => void;
}): ReactNode {
  const text = useText();
  const { services, service, isRead, trouble } = props;
  const examples = service?.examples ?? [];

  return (
    <div className="welcome grow scroll" data-unread={!isRead || undefined}>
      <div className="welcome-inner stack loose">
        <Hello />
        {trouble !== undefined && <Problem {...trouble} />}
        {services.length > 1 && (
          <Services services={services} chosen={service?.name} onChoose={props.onChoose} />
        )}
        {services.length === 1 && service !== undefined && service.description !== "" && (
          <p className="soft">{service.description}</p>
        )}
        {trouble === undefined && (
          <p className="soft welcome-hint">
            {examples.length > 0 ? text.chat.helloHint : text.chat.noExamples}
          </p>
        )}
        <div className="stack">
          {examples.map((example) => (
            <Button
              key={example}
              variant="default"
              justify="space-between"
              rightSection={<IconArrowUp size={15} aria-hidden />}
              onClick={() => props.onSend(example)}
              classNames={{ root: "example", label: "example-label" }}
            >
              {example}
            </Button>
          ))}
        </div>
      </div>
    </div>
  );
}

function Services(props: {
  services: readonly ServiceInfo[];
  chosen: string | undefined;
  onChoose: (name: string) => void;
}): ReactNode {
  const { services, chosen, onChoose } = props;
  const { service: label } = useText().chat;

  return (
    <div
      className="welcome-services"
      data-pairs={services.length % 3 === 1 || services.length === 2 || undefined}
      role="group"
      aria-label={label}
    >
      {services.map(({ name, title, description }) => (
        <button
          key={name}
          type="button"
          className="service-card card stack tight"
          aria-pressed={name === chosen}
          onClick={() => onChoose(name)}
        >
          <strong>{title ?? name}</strong>
          {description !== "" && <span>{description}</span>}
        </button>
      ))}
    </div>
  );
}

/** Said before anything is read; the document of the page says it too. */
function Hello(): ReactNode {
  const { hello, lead } = useText().chat;
  return (
    <header>
      <h2>{hello}</h2>
      <p className="soft">{lead}</p>
    </header>
  );
}
