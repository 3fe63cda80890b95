import path from "node:path";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { GRAMMARS, KOTLIN, loadGrammar, type Grammar, type LoadGrammar } from "./grammars.ts";
import { isBroken, outlineOf, type OutlinedLanguage } from "./outline.ts";
import { SHORT, signaturesOf, type Signatures } from "./signatures.ts";

/** Signatures of a file, whatever its language. Never throws. */
export type ReadSignatures = (path: string, text: string) => Promise<Signatures>;

/** Characters of a file that is parsed, and how long that may take, milliseconds. */
const MAX_TEXT = 300_000;
const MAX_MS = 250;

const LANGUAGES: Readonly<Record<string, OutlinedLanguage>> = {
  ".py": "python",
  ".pyi": "python",
  ".go": "go",
  ".java": "java",
  ".kt": "kotlin",
  ".kts": "kotlin",
  ".rs": "rust",
};

/**
 * Reads signatures: TypeScript and JavaScript by itself, other languages by grammars where their
 * package is installed. What cannot be read is shown whole, and costs one line of the log.
 */
export class Outlines {
  readonly #logger: Pick<Logger, "info" | "warn">;
  readonly #load: LoadGrammar;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #grammars = new Map<OutlinedLanguage, Promise<Grammar | undefined>>();

  constructor({
    logger,
    load = loadGrammar,
    clock = systemClock,
  }: {
    readonly logger: Pick<Logger, "info" | "warn">;
    readonly load?: LoadGrammar | undefined;
    readonly clock?: Pick<Clock, "monotonic"> | undefined;
  }) {
    this.#logger = logger;
    this.#load = load;
    this.#clock = clock;
  }

  readonly of: ReadSignatures = async (file, text) => {
    const language = LANGUAGES[path.extname(file)];
    if (language === undefined) return signaturesOf(file, text);

    const whole: Signatures = { text, form: "whole" };
    if (text.length <= SHORT || text.length > MAX_TEXT) return whole;

    const grammar = await this.#grammar(language);
    const outline = grammar && this.#outline(grammar, language, { file, text });

    const isShorter = outline !== undefined && outline !== "" && outline.length < text.length;
    return isShorter ? { text: outline, form: "signatures" } : whole;
  };

  #grammar(language: OutlinedLanguage): Promise<Grammar | undefined> {
    const known = this.#grammars.get(language);
    if (known) return known;

    const loaded = this.#loadOnce(language);
    this.#grammars.set(language, loaded);

    return loaded;
  }

  async #loadOnce(language: OutlinedLanguage): Promise<Grammar | undefined> {
    const packages = language === "kotlin" ? `${GRAMMARS} ${KOTLIN}` : GRAMMARS;

    const says = `files of ${language} are shown whole or by name, without signatures`;
    try {
      const grammar = await this.#load(language);
      if (!grammar) this.#logger.info({ language }, `${says}: npm install ${packages}`);

      return grammar;
    } catch (error) {
      this.#logger.warn({ language, error: messageOf(error) }, `${says}: its grammar is broken`);
      return undefined;
    }
  }

  #outline(
    grammar: Grammar,
    language: OutlinedLanguage,
    { file, text }: { readonly file: string; readonly text: string },
  ): string | undefined {
    try {
      const until = this.#clock.monotonic() + MAX_MS;
      const isOver = (): boolean => this.#clock.monotonic() > until;
      const read = grammar.parse(text, isOver, (root) =>
        isBroken(language, root) ? "" : outlineOf(language, root, text),
      );
      if (read !== undefined && read !== "") return read;

      const why = read === undefined ? `not read within ${MAX_MS} ms` : "nothing to take from it";
      this.#logger.info({ file }, `${file} is shown whole: ${why}`);
    } catch (error) {
      this.#logger.warn({ file, error: messageOf(error) }, `${file} is shown whole`);
    }

    return undefined;
  }
}
