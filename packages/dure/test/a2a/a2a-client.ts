import { Message, type SendMessageRequest } from "@a2a-js/sdk";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from "@a2a-js/sdk/client";

export type Binding = "JSONRPC" | "HTTP+JSON";
export const BINDINGS = ["JSONRPC", "HTTP+JSON"] as const satisfies readonly Binding[];

export interface Reached {
  readonly url: string;
  readonly token: string;
  readonly service?: string;
  readonly binding?: Binding;
}

/** The official client, version 1.3, of one service. It reads the card first. */
export function a2aClient(reached: Reached): Promise<Client> {
  const { url, token, service = "desk", binding = "JSONRPC" } = reached;
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const factory = new ClientFactory({
    transports: [
      new JsonRpcTransportFactory({ fetchImpl }),
      new RestTransportFactory({ fetchImpl }),
    ],
    preferredTransports: [binding],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });

  return factory.createFromUrl(`${url}/a2a/v1/${service}/.well-known/agent-card.json`, "");
}

interface Said {
  readonly text: string;
  readonly id?: string;
  readonly context?: string;
  readonly task?: string | undefined;
  readonly returnImmediately?: boolean;
}

let count = 0;

export function saying(said: Said): SendMessageRequest {
  const { text, context, task, returnImmediately = false } = said;
  count += 1;
  return {
    tenant: "",
    message: Message.fromJSON({
      messageId: said.id ?? `m-${count}`,
      contextId: context,
      taskId: task,
      role: "ROLE_USER",
      parts: [{ text }],
    }),
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately,
    },
    metadata: undefined,
  };
}
