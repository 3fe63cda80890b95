import { Button } from "@mantine/core";
import { IconArrowUp } from "@tabler/icons-react";
import type { ServiceInfo } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";

/** What a new conversation can begin with. */
export function Welcome(props: {
  services: readonly ServiceInfo[];
  service: ServiceInfo | undefined;
  /** Before, nothing is shown: what comes would move it. */
  isRead: boolean;
  onChoose: (name: string) => void;
  onSend: (message: string) => void;
}): ReactNode {
  const text = useText();
  const { services, service, isRead } = props;
  const examples = service?.examples ?? [];

  return (
    <div className="welcome" data-unread={!isRead || undefined}>
      <div className="welcome-inner">
        <Hello />
        {services.length > 1 && (
          <div
            className="welcome-services"
            data-pairs={services.length % 3 === 1 || services.length === 2 || undefined}
            role="group"
            aria-label={text.chat.service}
          >
            {services.map((one) => (
              <button
                key={one.name}
                type="button"
                className="service-card"
                aria-pressed={one.name === service?.name}
                onClick={() => props.onChoose(one.name)}
              >
                <strong>{one.title ?? one.name}</strong>
                {one.description !== undefined && <span>{one.description}</span>}
              </button>
            ))}
          </div>
        )}
        {services.length === 1 && service?.description !== undefined && (
          <p className="soft">{service.description}</p>
        )}
        <p className="soft welcome-hint">
          {examples.length > 0 ? text.chat.helloHint : text.chat.noExamples}
        </p>
        <div className="welcome-examples">
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
