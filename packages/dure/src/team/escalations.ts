import type { Alerts } from "../alerts/alerts.ts";
import type { Locale } from "../kernel/locales.ts";
import { z } from "zod";
import type { Database } from "../durable/database.ts";
import type { Notifications } from "../durable/notify.ts";
import type { Outbox } from "../durable/outbox.ts";
import type { TransactionalHandler } from "../durable/outbox-handler.ts";
import { isRefusal } from "../durable/passing.ts";
import type { Conversations } from "../engine/api.ts";
import { tool, type AnyTool } from "../engine/agent/tool.ts";
import type { Inbox } from "../escalations/inbox.ts";
import { EscalationRouter, type Operators } from "../escalations/router.ts";
import type { ToldEscalation } from "../escalations/webhook.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import {
  ESCALATION_SESSION,
  APPROVE_SESSION,
  APPROVING,
  MAX_NOTE,
  type ApprovalNeeds,
  type EscalationSeverity,
  type SuggestedAction,
} from "../kernel/escalation.ts";
import type { Logger } from "../kernel/logger.ts";
import { noticeAuthor, type Directory, type RoomAgent } from "../rooms/directory.ts";
import { channelPlaceId, defaultPlaces, type DefaultPlaces } from "../rooms/named-place.ts";
import { enqueueNotice } from "../rooms/out/notices.ts";
import { makeRoomsOf } from "../rooms/in/configured-places.ts";
import { cutText } from "../rooms/text.ts";
import type { LoadedTeam } from "./config.ts";
import type { Environment } from "./environment.ts";
import type { Settings } from "./limits.ts";
import type { Escalation } from "../wire/escalations.ts";

/**
 * Leads the escalations of a team on: to its operator agent, its room, its webhook, as the
 * configuration says.
 */
export function openEscalationRouter(
  team: LoadedTeam,
  environment: Pick<Environment, "webhookSecret">,
  parts: {
    database: Database;
    notifications: Notifications;
    outbox: Outbox;
    inbox: Inbox;
    conversations: Conversations;
    directory: Directory | undefined;
    /** Tells those who decide. Absent: the team has no rooms. */
    alerts: Pick<Alerts, "escalationHandler"> | undefined;
    settings: Settings;
    clock: Clock;
    logger: Logger;
  },
): EscalationRouter {
  const { settings, conversations, directory, alerts, ...durable } = parts;
  const { operator, room, webhook } = team.config.escalations ?? {};
  const { locale } = settings;

  return new EscalationRouter({
    ...durable,
    afterMs: {
      critical: settings.escalationCriticalMs,
      high: settings.escalationHighMs,
      medium: settings.escalationMediumMs,
    },
    operators:
      operator !== undefined && directory
        ? agentOperators({ conversations, agent: directory.get(operator), locale })
        : undefined,
    room: room !== undefined && directory ? roomHandler({ directory, room, locale }) : undefined,
    webhook:
      webhook === undefined ? undefined : { url: webhook, secret: environment.webhookSecret },
    people: alerts?.escalationHandler(),
  });
}

// --- the operator agent

/**
 * Characters of an escalation that the operator reads; in Korean 30 KiB of the 32 KiB that a turn's
 * background may have.
 */
const MAX_READ = 10_000;

/**
 * Asks one agent, in a session per escalation: an ordinary turn, in which it decides with
 * `resolve_escalation` or says that it does not.
 */
function agentOperators(parts: {
  conversations: Pick<Conversations, "turn">;
  agent: RoomAgent;
  locale: Locale;
}): Operators {
  const { conversations, agent, locale } = parts;
  return {
    name: agent.id,
    ask: async (escalation, { key, tenant, signal }) => {
      const request = {
        session: `${ESCALATION_SESSION}${escalation.id}`,
        service: agent.service,
        message: ASKED[locale],
        background: operatorBackground(escalation),
        locale,
      };

      // The tool has answered through the inbox, or there is no answer.
      await conversations.turn(request, {
        key,
        path: "escalation",
        author: "system",
        caller: { tenant, name: "escalations" },
        signal,
      }).done;

      return undefined;
    },
  };
}

const ASKED = {
  ko:
    "확인 요청이 하나 왔어요. 내용은 위에 인용한 자료에 있어요. 판단할 수 있으면 resolve_escalation으로 결정하고, 확신이 없거나 " +
    "사람이 정할 일이면 도구를 부르지 말고 이유만 짧게 말하세요. 그러면 바로 사람에게 넘어가요.",
  en:
    "An escalation is yours to decide; it stands above as quoted data. Decide it with " +
    "resolve_escalation if you can tell what is right. If you are not sure, or a person " +
    "should decide, do not call the tool and say shortly why: people are told at once.",
} as const;

/** The same for the same escalation, whenever it is asked: the turn is found by it. Pure. */
function operatorBackground({
  type,
  severity,
  title,
  description,
  context,
  source,
  suggestedActions,
}: Escalation): string {
  const actions = suggestedActions.filter(({ value }) => value !== APPROVE_SESSION);
  const facts = { type, severity, title, description, source, context, suggestedActions: actions };
  return `<escalation>\n${cutText(JSON.stringify(facts, null, 1), MAX_READ)}\n</escalation>`;
}

/**
 * The tool `resolve_escalation`: decides the escalation of the session that it is called in, and no
 * other. It is offered there alone, and holds only while dure itself has asked: where a person has
 * spoken, a person could have talked the agent into it.
 */
export function resolveEscalationTool(
  agent: string,
  parts: () => Promise<{ inbox: Pick<Inbox, "answer">; database: Database }>,
): AnyTool {
  return tool({
    description:
      "Decides the escalation that you were asked about, with one of its suggested values. " +
      "The decision holds at once.",
    inputSchema: z.object({
      value: z.string().min(1).max(100).describe("The value of one of the suggested actions."),
      note: z.string().max(MAX_NOTE).optional().describe("Why, or a hint for who goes on."),
    }),
    effect: "idempotent",
    offered: ({ session }) => session.startsWith(ESCALATION_SESSION),
    execute: async ({ value, note }, { session, turn }) => {
      const { inbox, database } = await parts();
      const id = session.slice(ESCALATION_SESSION.length);
      const [asked] = await database.query<{ tenant: string }>(ASKED_BY_DURE, [id, turn]);

      if (!asked) {
        throw new DureError("ESCALATION_NOT_YOURS", `${id} is not yours to decide here.`, {
          class: "forbidden",
          hint:
            "It was not asked by dure, it is with people now, or another person has spoken in this " +
            "session.",
        });
      }

      if (value === APPROVE_SESSION) {
        throw new DureError("ESCALATION_NOT_YOURS", `${id} is for people to allow any further.`, {
          class: "forbidden",
          hint: "Allow this one call with approve, or leave it to people.",
        });
      }

      try {
        await inbox.answer(id, { value, note }, { tenant: asked.tenant, name: agent });
        return { ok: true, id, value };
      } catch (error) {
        if (!isRefusal(error)) throw error;
        return { ok: false, code: error.code, message: error.message, hint: error.hint };
      }
    },
  });
}

/** A repeat of the call after a crash finds its own decision, which `answer` refuses as closed. */
const ASKED_BY_DURE = {
  name: "escalation.asked_by_dure",
  text: `
    select e.tenant
    from dure.escalations e
    join dure.turns t on t.id = $2 and t.author = 'system'
    where e.id = $1
      and e.step = 'operator'
      and not exists (
        select
        from dure.messages m
        where m.session_id = t.session_id and m.author <> 'system'
      )`,
};

// --- the room

const SEVERITY_WORDS = {
  ko: { critical: "긴급", high: "중요", medium: "보통", low: "참고" },
  en: { critical: "critical", high: "high", medium: "medium", low: "low" },
} as const satisfies Record<Locale, Record<EscalationSeverity, string>>;

const ROOM_TITLE = { ko: "확인 요청", en: "A decision is needed" } as const;

/** Characters of a description in a room; all of it stands in the dashboard. */
const MAX_ROOM = 1_500;

/** What waits in a direct room or a private thread is said without its words. */
const IN_PRIVATE = {
  ko: "따로 나눈 대화에서 결정할 일이 생겼어요. 운영자는 확인 요청 페이지에서 볼 수 있어요.",
  en: "Something waits in a private conversation. Operators find it on the page Escalations.",
} as const;

interface RoomEscalationRow {
  readonly tenant: string;
  readonly is_private: boolean;
  readonly severity: EscalationSeverity;
  readonly title: string;
  readonly description: string;
  readonly actions: readonly SuggestedAction[];
  readonly needs: ApprovalNeeds | null;
}

/** What a platform's people cannot approve: dure knows neither their roles nor who is the same. */
const APPROVED_ELSEWHERE = {
  ko: "승인은 확인 요청 페이지에서 할 수 있어요.",
  en: "It is approved on the page Escalations.",
} as const;

/**
 * Says it in the room, with its answers as buttons, wherever that room is; never to another tenant
 * than its own.
 */
function roomHandler({
  directory,
  room,
  locale,
}: {
  directory: Directory;
  room: DefaultPlaces;
  locale: Locale;
}): TransactionalHandler {
  return {
    transactional: true,
    run: async (payload, { tx }) => {
      const { id } = payload as unknown as ToldEscalation;
      const [escalation] = await tx.query<RoomEscalationRow>(OPEN, [id]);
      if (!escalation) return;

      const said = wordsOf(id, escalation, locale);

      await makeRoomsOf(escalation.tenant, directory, tx);

      for (const channel of defaultPlaces(room, directory.channels)) {
        const place = channelPlaceId(channel, escalation.tenant);
        const [own] = await tx.query(PLACE_OF_TENANT, [place, escalation.tenant]);
        const author = noticeAuthor(directory, channel.adapter);
        if (own && author) await enqueueNotice(tx, { place, author: author.id, ...said });
      }
    },
  };
}

/** All who see the room read it: of what is private they get neither words nor answers. Pure. */
function wordsOf(id: string, escalation: RoomEscalationRow, locale: Locale) {
  const { severity, title, description, needs } = escalation;
  const actions = escalation.actions.filter(({ value }) => needs === null || !APPROVING.has(value));
  const head = `**${ROOM_TITLE[locale]} (${SEVERITY_WORDS[locale][severity]})**`;
  if (escalation.is_private) return { text: `${head} ${IN_PRIVATE[locale]}` };

  const elsewhere = needs === null ? "" : APPROVED_ELSEWHERE[locale];
  const lines = [`${head} ${title}`, cutText(description, MAX_ROOM), elsewhere];
  const buttons = actions.map(({ value, label, code }) => ({
    value: `${id}:${value}`,
    label,
    code,
  }));

  return { text: lines.filter(Boolean).join("\n"), buttons };
}

const OPEN = {
  name: "escalation.for_room",
  text: `
    select tenant, severity, title, description, actions, context->'needs' as needs,
      not (
        dure.may_know_place(room, ' ', '')
        and dure.may_know_session(session_id, ' ', '')
        and dure.may_know_job(job, ' ', '')
      ) as is_private
    from dure.escalations
    where id = $1 and status = 'open'`,
};
const PLACE_OF_TENANT = {
  name: "escalation.place_of_tenant",
  text: "select from dure.places where id = $1 and tenant = $2",
};
