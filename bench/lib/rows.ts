import { randomUUID } from "node:crypto";
import { generateText, type ModelMessage } from "ai";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import pg from "pg";

/**
 * The peer that durable engines are measured against: what one writes by hand with the AI SDK and
 * two statements. It stores the message, the answer and that the turn ended; it cannot resume, has
 * no events, no state, no budgets and no journal.
 */
export class HandWrittenRows implements AsyncDisposable {
  readonly #pool: pg.Pool;
  readonly #model: LanguageModelV4;

  private constructor(pool: pg.Pool, model: LanguageModelV4) {
    this.#pool = pool;
    this.#model = model;
  }

  static async open(url: string, model: LanguageModelV4): Promise<HandWrittenRows> {
    const pool = new pg.Pool({ connectionString: url, max: 16 });
    pool.on("error", () => {}); // a connection that is cut while idle is opened again
    await pool.query(SCHEMA);
    return new HandWrittenRows(pool, model);
  }

  async turn(session: string, text: string): Promise<string> {
    const id = randomUUID();
    const { rows: history } = await this.#pool.query<{
      role: "user" | "assistant";
      content: string;
    }>({ ...BEGIN, values: [id, session, text] });
    const messages: ModelMessage[] = [
      ...history.map(({ role, content }): ModelMessage => ({ role, content })),
      { role: "user", content: text },
    ];
    const answer = await generateText({ model: this.#model, messages, maxRetries: 0 });
    const { rowCount } = await this.#pool.query({
      ...END,
      values: [id, answer.text, JSON.stringify({ usage: answer.usage })],
    });
    if (rowCount !== 1) throw new Error(`the turn ${id} was not ours any more`);
    return answer.text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }
}

const SCHEMA = `
  create table messages (id bigint generated always as identity primary key, session text not null, role text not null, content text not null, at timestamptz not null default now());
  create index messages_session on messages (session, id);
  create table turns (id uuid primary key, session text not null, state text not null, result jsonb, at timestamptz not null default now());
  create index turns_open on turns (at) where state = 'running'`;

const BEGIN = {
  name: "begin",
  text: `
    with begun as (insert into turns (id, session, state) values ($1, $2, 'running')),
         said as (insert into messages (session, role, content) values ($2, 'user', $3))
    select role, content from messages where session = $2 order by id`,
};

const END = {
  name: "end",
  text: `
    with ended as (update turns set state = 'done', result = $3 where id = $1 and state = 'running' returning session)
    insert into messages (session, role, content) select session, 'assistant', $2 from ended`,
};
