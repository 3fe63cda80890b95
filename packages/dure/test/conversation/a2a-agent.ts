import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { AgentCard, Artifact, Message, Task, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express from "express";

/** What the agent does with a call, one step after the other. */
export interface A2aCall {
  /** The person's words. */
  readonly text: string;
  readonly contextId: string;
  readonly taskId: string;
  /** It goes on with a task that had asked. */
  readonly isFollowUp: boolean;
  readonly cancelled: AbortSignal;
  /** A piece of its one artifact. */
  write(text: string): void;
  working(text: string): void;
  /** Instead of a task. */
  reply(text: string): void;
  end(
    state: "COMPLETED" | "FAILED" | "REJECTED" | "CANCELED" | "INPUT_REQUIRED" | "AUTH_REQUIRED",
    text?: string,
  ): void;
}

export interface A2aAgent extends AsyncDisposable {
  readonly url: string;
  /** Of the calls that it has begun: message id, context, text. */
  readonly calls: readonly {
    readonly messageId: string;
    readonly contextId: string;
    readonly taskId: string;
    readonly text: string;
  }[];
  /** Headers of the requests, newest last. */
  readonly headers: readonly Readonly<Record<string, unknown>>[];
  /** Cuts every connection; the tasks go on. */
  cut(): void;
}

/** A server of the official SDK over loopback. */
export async function startA2aAgent(
  act: (call: A2aCall) => Promise<void> | void,
  options: { streaming?: boolean; version?: string; messageOnly?: boolean } = {},
): Promise<A2aAgent> {
  const calls: A2aAgent["calls"][number][] = [];
  const headers: Record<string, unknown>[] = [];
  const cancels = new Map<string, AbortController>();
  const executor: AgentExecutor = {
    execute: async (context: RequestContext, bus: ExecutionEventBus) => {
      const { taskId, contextId, userMessage, task } = context;
      const part = userMessage.parts[0]?.content;
      const text = part?.$case === "text" ? part.value : "";
      calls.push({ messageId: userMessage.messageId, contextId, taskId, text });
      const cancel = new AbortController();
      cancels.set(taskId, cancel);
      const said = (words: string) =>
        Message.fromJSON({
          messageId: crypto.randomUUID(),
          taskId,
          contextId,
          role: "ROLE_AGENT",
          parts: [{ text: words }],
        });
      const status = (state: string, words?: string): void =>
        bus.publish(
          AgentEvent.statusUpdate(
            TaskStatusUpdateEvent.fromJSON({
              taskId,
              contextId,
              status: {
                state: `TASK_STATE_${state}`,
                timestamp: new Date().toISOString(),
                ...(words !== undefined && { message: Message.toJSON(said(words)) }),
              },
            }),
          ),
        );
      if (!options.messageOnly) {
        bus.publish(
          AgentEvent.task(
            task ??
              Task.fromJSON({
                id: taskId,
                contextId,
                status: { state: "TASK_STATE_SUBMITTED", timestamp: new Date().toISOString() },
                history: [Message.toJSON(userMessage)],
              }),
          ),
        );
      }
      let isBegun = false;
      await act({
        text,
        contextId,
        taskId,
        isFollowUp: task !== undefined,
        cancelled: cancel.signal,
        write: (piece) => {
          bus.publish(
            AgentEvent.artifactUpdate({
              taskId,
              contextId,
              artifact: Artifact.fromJSON({ artifactId: "answer", parts: [{ text: piece }] }),
              append: isBegun,
              lastChunk: false,
              metadata: undefined,
            }),
          );
          isBegun = true;
        },
        working: (words) => status("WORKING", words),
        reply: (words) => bus.publish(AgentEvent.message(said(words))),
        end: (state, words) => status(state, words),
      });
      bus.finished();
    },
    cancelTask: async (taskId: string, bus: ExecutionEventBus) => {
      cancels.get(taskId)?.abort();
      const { contextId } = calls.find((call) => call.taskId === taskId)!;
      const status = { state: "TASK_STATE_CANCELED", timestamp: new Date().toISOString() };
      const update = TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status });
      bus.publish(AgentEvent.statusUpdate(update));
      bus.finished();
    },
  };

  const app = express();
  const server: Server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const card = AgentCard.fromJSON({
    name: "Weather",
    description: "Tells the weather.",
    version: "1",
    supportedInterfaces: [
      { url: `${url}/rpc`, protocolBinding: "JSONRPC", protocolVersion: options.version ?? "1.0" },
    ],
    capabilities: { streaming: options.streaming ?? true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  app.use((request, _response, next) => {
    headers.push({ ...request.headers });
    next();
  });
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  return {
    url,
    calls,
    headers,
    cut: () => {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
