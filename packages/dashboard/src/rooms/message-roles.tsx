import { Button, Tooltip } from "@mantine/core";
import {
  IconCheck,
  IconEye,
  IconMessageCircle2,
  IconPlayerStop,
  IconTimeline,
} from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { ROLE_REASONS, type MessageRole, type RoomMessage } from "dure/client";
import type { ReactElement, ReactNode } from "react";
import { AgentLink } from "../agents/agent-link.tsx";
import { useLanguage, useText, useWords } from "../language.tsx";
import type { Language } from "../words.ts";
import type { Text } from "../language.tsx";
import { WORK_WORDS, type WorkWords } from "words:later/work";

interface RolesProps {
  readonly message: RoomMessage;
  /** Agents that answer it now. */
  readonly working: readonly string[] | undefined;
  readonly nameOf: (agent: string) => string;
}

/**
 * What agents did with a message, in one sign. Its name says it whole, and so do hover and focus;
 * a press opens it in the panel.
 */
export function RoleMark({
  onOpen,
  ...props
}: RolesProps & { readonly onOpen: () => void }): ReactNode {
  const { text, language } = useLanguage();
  const words = useRoleWords();
  const { working, message, nameOf } = props;
  const handlers = rankedOf(message.roles);
  const observers = observersOf(message.roles);
  if (handlers.length + observers.length === 0) return null;

  const stand = wholeStandOf(handlers, working);
  const Icon = STAND_ICONS[stand];
  const lines = [
    ...handlers.map(
      (role) =>
        `${nameOf(role.agent)} ${wordsOf(role, props, words)}. ${reasonOf(role, text.rooms, language)}`,
    ),
    ...(observers.length === 0
      ? []
      : [
          `${text.rooms.roles.OBSERVER}: ${observers.map(({ agent }) => nameOf(agent)).join(", ")}`,
        ]),
  ];

  return (
    <SmallTip label={lines.join("\n")}>
      <button
        type="button"
        className="role-mark bare"
        data-stand={stand}
        aria-label={`${text.rooms.roles.label}: ${lines.join(" ")}`}
        onClick={onOpen}
      >
        <Icon size={14} aria-hidden />
      </button>
    </SmallTip>
  );
}

/** What a sign stands for, said on hover and focus. */
export function SmallTip(props: {
  label: string;
  position?: "bottom-end" | "top-start";
  children: ReactElement;
}): ReactNode {
  return (
    <Tooltip
      label={props.label}
      events={TOOLTIP_EVENTS}
      position={props.position ?? "bottom-end"}
      multiline
      maw={320}
      withinPortal={false}
      transitionProps={NO_TRANSITION}
      classNames={{ tooltip: "role-tip small" }}
    >
      {props.children}
    </Tooltip>
  );
}

/** Each agent of a message: what it is to it, why, and the way to its answer. */
export function MessageRoles({
  onJump,
  ...props
}: RolesProps & { readonly onJump: (message: string) => void }): ReactNode {
  const { text, language } = useLanguage();
  const words = useRoleWords();
  const { message, nameOf } = props;
  const handlers = rankedOf(message.roles);

  return (
    <>
      <ul className="roles stack">
        {[...handlers, ...observersOf(message.roles)].map((role) => (
          <li key={role.agent} data-role={role.role} data-agent={role.agent}>
            <p className="cluster baseline">
              <AgentLink id={role.agent} className="agent-link plain strong">
                {nameOf(role.agent)}
              </AgentLink>
              <span className="badge">{wordsOf(role, props, words)}</span>
              {role.answeredBy !== undefined && (
                <Button size="compact-sm" variant="subtle" onClick={() => onJump(role.answeredBy!)}>
                  {text.rooms.roles.toAnswer}
                </Button>
              )}
            </p>
            <p className="soft small">{reasonOf(role, text.rooms, language)}</p>
          </li>
        ))}
      </ul>
      {handlers.length > 0 && <ToChain message={message.id} />}
    </>
  );
}

/** What the message set off. */
function ToChain({ message }: { message: string }): ReactNode {
  const { chain } = useText().common;
  return (
    <Button
      component={Link}
      to={`/traces/${encodeURIComponent(message)}`}
      className="rigid"
      size="compact-sm"
      variant="default"
      leftSection={<IconTimeline size={14} />}
    >
      {chain}
    </Button>
  );
}

/** How an agent stands to a message; of several, the first of this order says it for all. */
const STANDS = ["working", "waiting", "ended", "answered", "heard"] as const;
type RoleStand = (typeof STANDS)[number];

const STAND_ICONS = {
  working: IconMessageCircle2,
  waiting: IconMessageCircle2,
  ended: IconPlayerStop,
  answered: IconCheck,
  heard: IconEye,
} as const satisfies Record<RoleStand, typeof IconEye>;

/** Pure. */
function standOfRole(role: MessageRole, working: RolesProps["working"]): RoleStand {
  if (role.role !== "HANDLER") return "heard";
  if (role.answeredBy !== undefined) return "answered";
  if (working?.includes(role.agent) === true) return "working";
  return role.outcome === undefined ? "waiting" : "ended";
}

/** Pure. */
function wholeStandOf(handlers: readonly MessageRole[], working: RolesProps["working"]): RoleStand {
  const stands = handlers.map((role) => standOfRole(role, working));
  return STANDS.find((stand) => stands.includes(stand)) ?? "heard";
}

type RoleWords = Text["rooms"]["roles"] & Pick<WorkWords, "ended">;

function useRoleWords(): RoleWords {
  const { ended } = useWords(WORK_WORDS);
  return { ...useText().rooms.roles, ended };
}

/** Such as `담당 · 먼저 · 답함`. Whose work ended without an answer is not in charge any more. Pure. */
function wordsOf(role: MessageRole, { message, working }: RolesProps, words: RoleWords): string {
  const stand = standOfRole(role, working);
  if (stand === "heard") return words.OBSERVER;
  if (stand === "ended" && role.outcome !== undefined) return words.ended[role.outcome];

  const isOneOf = rankedOf(message.roles).length;
  const parts = [
    words.HANDLER,
    isOneOf > 1 && role.rank !== undefined && words[role.rank],
    stand === "answered" ? words.answered : stand === "working" && words.working,
  ];
  return parts.filter((part) => part !== false).join(" · ");
}

/** Pure. */
function reasonOf(role: MessageRole, rooms: Text["rooms"], language: Language): string {
  const reasons: Readonly<Record<string, Readonly<Record<Language, string>>>> = ROLE_REASONS;
  return reasons[role.because]?.[language] ?? rooms.roles.unknown;
}

const TOOLTIP_EVENTS = { hover: true, focus: true, touch: false };
const NO_TRANSITION = { duration: 0 };

const RANK_ORDER = { PRIMARY: 0, SECONDARY: 1 } as const;

/** Those who answer, the leading one before the others. Pure. */
function rankedOf(roles: readonly MessageRole[]): readonly MessageRole[] {
  const placeOf = ({ rank }: MessageRole): number => (rank === undefined ? 0 : RANK_ORDER[rank]);
  return roles.filter(({ role }) => role === "HANDLER").toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** Pure. */
function observersOf(roles: readonly MessageRole[]): readonly MessageRole[] {
  return roles.filter(({ role }) => role === "OBSERVER");
}
