import { Tooltip } from "@mantine/core";
import { IconCheck, IconEye, IconMessageCircle2, IconTimeline } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { ROLE_REASONS, type MessageRole, type RoomMessage } from "dure/client";
import type { KeyboardEvent, MouseEvent, ReactElement, ReactNode } from "react";
import { useLanguage, useText } from "../language.tsx";
import type { Language } from "../words.ts";

/**
 * What each agent did with a message. Hover or focus says why; the arrow keys go from agent to
 * agent.
 */
export function RoleLine(props: {
  message: RoomMessage;
  working: readonly string[] | undefined;
  nameOf: (agent: string) => string;
  onJump: (message: string) => void;
}): ReactNode {
  const { message, working, nameOf, onJump } = props;
  const text = useText();
  const handlers = rankedOf(message.roles);
  const observers = message.roles.filter(({ role }) => role === "OBSERVER");
  const [first] = [...handlers, ...observers];
  if (first === undefined) return null;

  const tabIndexOf = (role: MessageRole): number => (role === first ? 0 : -1);

  return (
    <div className="roles toolbar" role="group" aria-label={text.rooms.roles.label}>
      {handlers.map((role) => (
        <Handler
          key={role.agent}
          role={role}
          name={nameOf(role.agent)}
          isOneOf={handlers.length}
          isWorking={working?.includes(role.agent) ?? false}
          tabIndex={tabIndexOf(role)}
          onJump={onJump}
        />
      ))}
      {observers.length > 0 && (
        <span className="observers meta toolbar tight inline">
          <IconEye size={13} aria-hidden />
          <span>{text.rooms.roles.OBSERVER}</span>
          {observers.map((role) => (
            <Reason key={role.agent} role={role}>
              {(reason) => (
                <button
                  type="button"
                  className="role bare badge"
                  data-role="OBSERVER"
                  data-agent={role.agent}
                  tabIndex={tabIndexOf(role)}
                  onKeyDown={goBetween}
                >
                  {nameOf(role.agent)}
                  <span className="hidden-words">{`. ${reason}`}</span>
                </button>
              )}
            </Reason>
          ))}
        </span>
      )}
      {handlers.length > 0 && <ToChain message={message.id} />}
    </div>
  );
}

/** What the message set off. */
function ToChain({ message }: { message: string }): ReactNode {
  const { chain } = useText().common;
  return (
    <Link
      to="/traces/$id"
      params={{ id: message }}
      className="role bare badge"
      data-role="CHAIN"
      tabIndex={-1}
      onKeyDown={goBetween}
      aria-label={chain}
      title={chain}
    >
      <IconTimeline size={14} aria-hidden />
    </Link>
  );
}

function Handler(props: {
  role: MessageRole;
  name: string;
  isOneOf: number;
  isWorking: boolean;
  tabIndex: number;
  onJump: (message: string) => void;
}): ReactNode {
  const { role, name, isOneOf, isWorking, tabIndex, onJump } = props;
  const text = useText();
  const { answeredBy, rank } = role;

  const what = [
    text.rooms.roles.HANDLER,
    isOneOf > 1 && rank !== undefined && text.rooms.roles[rank],
    answeredBy !== undefined ? text.rooms.roles.answered : isWorking && text.rooms.roles.working,
  ];

  const common = {
    className: "role bare badge",
    "data-role": "HANDLER",
    "data-agent": role.agent,
    tabIndex,
    onKeyDown: goBetween,
  };

  const wordsWith = (reason: string): ReactNode => (
    <>
      {answeredBy === undefined ? (
        <IconMessageCircle2 size={13} aria-hidden />
      ) : (
        <IconCheck size={13} aria-hidden />
      )}
      <span className="strong">{name}</span>
      <span>{what.filter((part) => part !== false).join(" · ")}</span>
      <span className="hidden-words">{`. ${reason}`}</span>
    </>
  );

  if (answeredBy === undefined) {
    return (
      <Reason role={role}>
        {(reason) => (
          <button type="button" {...common}>
            {wordsWith(reason)}
          </button>
        )}
      </Reason>
    );
  }

  const jump = (event: MouseEvent): void => {
    event.preventDefault();
    onJump(answeredBy);
  };

  return (
    <Reason role={role} more={text.rooms.roles.toAnswer}>
      {(reason) => (
        <a {...common} href={`#${answeredBy}`} onClick={jump}>
          {wordsWith(reason)}
        </a>
      )}
    </Reason>
  );
}

/** Says on hover and focus why an agent has its role. */
function Reason({
  role,
  more,
  children,
}: {
  role: MessageRole;
  more?: string;
  children: (reason: string) => ReactElement;
}): ReactNode {
  const { text, language } = useLanguage();
  const reasons: Readonly<Record<string, Readonly<Record<Language, string>>>> = ROLE_REASONS;
  const reason = reasons[role.because]?.[language] ?? text.rooms.roles.unknown;

  return (
    <Tooltip
      label={more === undefined ? reason : `${reason} ${more} ↓`}
      events={TOOLTIP_EVENTS}
      position="bottom-start"
      multiline
      maw={280}
      withinPortal={false}
      transitionProps={NO_TRANSITION}
      classNames={{ tooltip: "role-tip small" }}
    >
      {children(reason)}
    </Tooltip>
  );
}

function goBetween(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (step === 0) return;

  const all = [
    ...(event.currentTarget.closest(".roles")?.querySelectorAll<HTMLElement>(".role") ?? []),
  ];
  all[all.indexOf(event.currentTarget) + step]?.focus();
  event.preventDefault();
}

const TOOLTIP_EVENTS = { hover: true, focus: true, touch: true };
const NO_TRANSITION = { duration: 0 };

const RANK_ORDER = { PRIMARY: 0, SECONDARY: 1 } as const;

/** Those who answer, the leading one before the others. Pure. */
function rankedOf(roles: readonly MessageRole[]): readonly MessageRole[] {
  const placeOf = ({ rank }: MessageRole): number => (rank === undefined ? 0 : RANK_ORDER[rank]);
  return roles.filter(({ role }) => role === "HANDLER").toSorted((a, b) => placeOf(a) - placeOf(b));
}
