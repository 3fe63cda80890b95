import { Button } from "@mantine/core";
import { IconArrowUp } from "@tabler/icons-react";
import type { ServiceInfo } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";
import { Problem, type Trouble } from "../problem.tsx";

/** What a new conversation can begin with. */
export function Welcome(props: {
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
