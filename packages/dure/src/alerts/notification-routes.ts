import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import type { Rooms } from "../rooms/rooms.ts";
import { hasScope } from "../server/access.ts";
import { speakerOf } from "../server/room-routes.ts";
import { problems } from "../server/schemas.ts";
import type { RouteApp, ServerParts } from "../server/server.ts";
import {
  NotificationsBody,
  NotificationsJson,
  SubscriptionBody,
  SubscriptionJson,
  SubscriptionParams,
} from "../wire/notifications.ts";
import { AsPerson, RoomParams } from "../wire/rooms.ts";
import { NOTHING } from "../wire/shared.ts";
import type { AlertOwner, NewBrowser } from "./alert-choices.ts";
import type { Alerts } from "./alerts.ts";

/** What a person wants is theirs: no one else reads of it in the audit. */
const config = { scope: "rooms" as const, audit: false as const };

interface NotificationParts {
  readonly rooms: Rooms;
  readonly alerts: Alerts;
}

/** What people are told outside of the page. Source: docs/spec/collaboration §12. */
export function notificationRoutes(alerts: Alerts | undefined): FastifyPluginAsyncZod<ServerParts> {
  return async (app, { rooms, locale }) => {
    if (!rooms || !alerts) return;
    const parts = { rooms, alerts };
    readNotifications(app, parts);
    setNotifications(app, parts);
    muteRoom(app, parts);
    addSubscription(app, { ...parts, locale });
    removeSubscription(app, parts);
  };
}

async function shownTo(
  who: AlertOwner,
  alerts: Alerts,
): Promise<z.output<typeof NotificationsJson>> {
  const { told, muted, browsers } = await alerts.book.choices(who);
  return { told, muted: [...muted], browsers, public_key: await alerts.publicKey() };
}

function readNotifications(app: RouteApp, { rooms, alerts }: NotificationParts): void {
  app.get(
    "/v1/notifications",
    {
      config: { scope: "rooms" },
      schema: {
        tags: ["notifications"],
        summary: "What the person is told outside of the page",
        querystring: AsPerson,
        response: { 200: NotificationsJson, ...problems(400, 401, 403) },
      },
    },
    async (request) => shownTo(speakerOf(request, rooms, request.query.as_person), alerts),
  );
}

function setNotifications(app: RouteApp, { rooms, alerts }: NotificationParts): void {
  app.patch(
    "/v1/notifications",
    {
      config,
      schema: {
        tags: ["notifications"],
        summary: "Chooses what the person is told",
        body: NotificationsBody,
        response: { 200: NotificationsJson, ...problems(400, 401, 403) },
      },
    },
    async (request) => {
      const { told, as_person } = request.body;
      const who = speakerOf(request, rooms, as_person);
      await alerts.book.choose(who, told);

      return shownTo(who, alerts);
    },
  );
}

function muteRoom(app: RouteApp, { rooms, alerts }: NotificationParts): void {
  for (const [method, isMuted] of [
    ["put", true],
    ["delete", false],
  ] as const) {
    app[method](
      "/v1/notifications/muted/:room",
      {
        config,
        schema: {
          tags: ["notifications"],
          summary: isMuted
            ? "Tells the person nothing of a room and its threads"
            : "Tells the person of a muted room again",
          params: RoomParams,
          querystring: AsPerson,
          response: { 200: NotificationsJson, ...problems(400, 401, 403, 404, 409) },
        },
      },
      async (request) => {
        const who = speakerOf(request, rooms, request.query.as_person);
        const { id } = await rooms.place(request.params.room, who);
        await alerts.book.mute(who, id, isMuted);

        return shownTo(who, alerts);
      },
    );
  }
}

function addSubscription(
  app: RouteApp,
  { rooms, alerts, locale }: NotificationParts & { readonly locale: string },
): void {
  app.post(
    "/v1/notifications/subscriptions",
    {
      config,
      schema: {
        tags: ["notifications"],
        summary: "Tells the person in this browser: a subscription of Web Push",
        description: "Ten of a person at most: the one that came the longest ago ends.",
        body: SubscriptionBody,
        response: { 200: SubscriptionJson, ...problems(400, 401, 403) },
      },
    },
    async (request) => {
      const who = speakerOf(request, rooms, request.body.as_person);
      return { id: await alerts.book.add(who, browserIn(request, request.body, locale)) };
    },
  );
}

/** What its person may decide is that of who registers it, not of a name that they speak under. */
function browserIn(
  { principal }: FastifyRequest,
  { endpoint, keys, locale }: z.output<typeof SubscriptionBody>,
  usual: string,
): NewBrowser {
  const { caller, proof, login = "", roles = [] } = principal!;
  return {
    endpoint,
    keys,
    locale: locale ?? (usual === "ko" ? "ko" : "en"),
    token: proof === "none" ? "" : caller.name,
    login,
    isOperator: hasScope(principal!, "admin"),
    roles,
  };
}

function removeSubscription(app: RouteApp, { rooms, alerts }: NotificationParts): void {
  app.delete(
    "/v1/notifications/subscriptions/:id",
    {
      config,
      schema: {
        tags: ["notifications"],
        summary: "Tells the person no more in that browser",
        params: SubscriptionParams,
        querystring: AsPerson,
        response: { 204: NOTHING, ...problems(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const who = speakerOf(request, rooms, request.query.as_person);
      await alerts.book.remove(who, request.params.id);

      return reply.code(204).send(null);
    },
  );
}
