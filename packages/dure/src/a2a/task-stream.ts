import type { TurnFrame } from "../engine/api.ts";
import type { Clock } from "../kernel/clock.ts";
import type { SseStream } from "../server/sse.ts";
import { TokenBatch } from "../server/turn-stream.ts";
import type { TaskJson } from "./a2a-task.ts";

/** One event of a stream. Source: A2A 1.0 §3.2.3, StreamResponse. */
export type StreamJson =
  | { readonly task: TaskJson }
  | { readonly artifactUpdate: object }
  | { readonly statusUpdate: object };

/** Which turn of which task is told. */
export interface TaskTurnRef {
  readonly taskId: string;
  readonly contextId: string;
  readonly turnId: string;
}

/** The words of one turn as an artifact that grows. Words that are void are replaced. */
export class TaskTeller {
  readonly #told: TaskTurnRef;
  #text = "";
  #isVoid = false;

  constructor(told: TaskTurnRef) {
    this.#told = told;
  }

  /** An agent begins, or begins again: its first word takes the place of the words so far. */
  agentBegins(): void {
    this.#isVoid = this.#text !== "";
  }

  say(words: string): StreamJson {
    const isNew = this.#text === "" || this.#isVoid;
    this.#text = isNew ? words : this.#text + words;
    this.#isVoid = false;

    return this.#artifact(words, { append: !isNew, lastChunk: false });
  }

  /** What is left to say: the answer stands whole, a question takes the words back. */
  end(task: TaskJson): readonly StreamJson[] {
    const { taskId, contextId } = this.#told;
    const [said, ...files] = task.artifacts ?? [];
    const [words] = said?.parts ?? [];
    const answer = words && "text" in words ? words.text : "";
    const statusUpdate = { taskId, contextId, status: task.status };
    const made = files.map((artifact) => ({
      artifactUpdate: { taskId, contextId, artifact, append: false, lastChunk: true },
    }));

    return [...this.#rest(answer), ...made, { statusUpdate }];
  }

  #rest(answer: string): readonly StreamJson[] {
    if (answer === this.#text && !this.#isVoid) return [];
    const isMore = !this.#isVoid && this.#text !== "" && answer.startsWith(this.#text);
    const words = isMore ? answer.slice(this.#text.length) : answer;

    return [this.#artifact(words, { append: isMore, lastChunk: true })];
  }

  #artifact(text: string, how: { append: boolean; lastChunk: boolean }): StreamJson {
    const { taskId, contextId, turnId } = this.#told;
    const artifact = { artifactId: turnId, parts: [{ text }] };

    return { artifactUpdate: { taskId, contextId, artifact, ...how } };
  }
}

export interface Telling {
  readonly frames: AsyncIterable<TurnFrame>;
  readonly teller: TaskTeller;
  /** The task as it is now. */
  readonly task: () => Promise<TaskJson>;
  /** How one event is written. */
  readonly frame: (event: StreamJson) => string;
  readonly clock: Clock;
}

/** Sends a turn until its end or the reader's. What ends the reader leaves the turn alone. */
export async function tellTask(telling: Telling, stream: SseStream): Promise<void> {
  const { frames, teller, task, frame, clock } = telling;
  const batch = new TokenBatch(clock, (text) => stream.write(frame(teller.say(text))));

  try {
    for await (const { event } of frames) {
      if (stream.ended) return;

      if (event.type === "LLM_TOKEN") batch.add(event.data);
      else if (event.type === "AGENT_START") {
        batch.flush();
        teller.agentBegins();
      } else if (event.type === "DONE") {
        batch.flush();
        for (const last of teller.end(await task())) stream.write(frame(last));

        return;
      }

      if (stream.isFull) await stream.roomAgain();
    }
  } finally {
    batch.flush();
  }
}
