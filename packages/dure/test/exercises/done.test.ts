import { expectTypeOf, test } from "vitest";
import type { z } from "zod";
import type { Json } from "../../src/kernel/json.ts";
import type { Done } from "../../src/kernel/turn-events.ts";
import type { FromWire } from "../../src/kernel/wire.ts";
import type { ChatAnswer } from "../../src/wire/turns.ts";

type DoneOnWire = FromWire<z.output<typeof ChatAnswer>>["interaction"];

/** Every member by its path, such as `uiHint.buttons`; what may be any JSON has none. */
type Paths<Value> = [Json] extends [Value]
  ? never
  : Value extends readonly (infer Item)[]
    ? Paths<Item>
    : Value extends object
      ? { [Key in Known<Value>]-?: Key | `${Key}.${Paths<Value[Key]>}` }[Known<Value>]
      : never;
/** Without those that a type allows and does not name. */
type Known<Value> = keyof {
  [Key in keyof Value as Key extends string ? (string extends Key ? never : Key) : never]: 0;
};
/** The error of the compiler names the member that one of them lacks. */
type None<Lacking extends never> = Lacking;

test("the schema of DONE has the members of its type, and no others", () => {
  expectTypeOf<None<Exclude<Paths<Done>, Paths<DoneOnWire>>>>().toBeNever();
  expectTypeOf<None<Exclude<Paths<DoneOnWire>, Paths<Done>>>>().toBeNever();
  expectTypeOf<Done>().toExtend<DoneOnWire>();
});
