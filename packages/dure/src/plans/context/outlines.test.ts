import { expect, test } from "vitest";
import type { Grammar } from "./grammars.ts";
import { Outlines } from "./outlines.ts";

/** So much text that a whole file is longer than what it declares. */
const BODY = "x".repeat(500);

function logged(load?: () => Promise<Grammar | undefined>) {
  const lines: string[] = [];
  const add = (_facts: unknown, line?: string): void => void lines.push(String(line));
  const logger = { info: add, warn: add };
  return { lines, outlines: new Outlines({ logger, load }) };
}

const SOURCES: Readonly<Record<string, string>> = {
  "cart.py": `"""가게의 장바구니."""
from decimal import Decimal

@dataclass
class Cart:
    """What a person buys."""
    total: Decimal

    def add(self, item: "Item", count: int = 1) -> None:
        """Adds it."""
        print("${BODY}")

    def _sum(self) -> int:
        return 1

def load(path: str) -> Cart:
    return Cart("${BODY}")

def _hidden():
    pass
`,
  "cart.go": `package cart

import "fmt"

// Cart is what a person buys.
type Cart struct {
	Items []string
}

// Add 넣는다.
func (c *Cart) Add(item string, count int) error {
	fmt.Println("${BODY}")
	return nil
}

func hidden() string { return "" }
`,
  "Cart.java": `package shop;

import java.util.List;

/** What a person buys. */
public class Cart implements Basket {
    private final List<String> items = List.of("${BODY}");
    public static final int MOST = 10;

    /** Adds it. */
    @Override
    public void add(String item, int count) throws Full {
        System.out.println("${BODY}");
    }

    private void hidden() {}

    interface Item { String name(); }
}
`,
  "cart.rs": `use std::fmt;

/// What a person buys.
/// In order.
pub struct Cart { pub items: Vec<String> }

struct Hidden;

impl Cart {
    /// Adds it.
    pub fn add(&mut self, item: &str) -> Result<(), Full> { println!("${BODY}"); Ok(()) }
    fn hidden(&self) {}
}

pub trait Basket {
    fn total(&self) -> u32;
}

impl Basket for Cart {
    fn total(&self) -> u32 { let _ = "${BODY}"; 1 }
}
`,
  "cart.js": `/** What a person buys. */
export class Cart {
  #items = ["${BODY}"];
  /** Adds it. */
  add(item, count = 1) { this.#items.push(item); }
}
function hidden() { return "${BODY}"; }
export const load = async (path) => { return "${BODY}"; };
`,
};

const SHOWN: Readonly<Record<string, readonly string[]>> = {
  "cart.py": [
    "from decimal import Decimal",
    "@dataclass\nclass Cart:",
    '  def add(self, item: "Item", count: int = 1) -> None:',
    '"""Adds it."""',
    "def load(path: str) -> Cart: …",
  ],
  "cart.go": [
    "package cart",
    "// Cart is what a person buys.\ntype Cart struct {\n\tItems []string\n}",
    "// Add 넣는다.\nfunc (c *Cart) Add(item string, count int) error …",
  ],
  "Cart.java": [
    "import java.util.List;",
    "/** What a person buys. */\npublic class Cart implements Basket",
    "public static final int MOST = 10;",
    "public void add(String item, int count) throws Full …",
    "String name();",
  ],
  "cart.rs": [
    "/// What a person buys.\n/// In order.\npub struct Cart { pub items: Vec<String> }",
    "impl Cart\n",
    "  pub fn add(&mut self, item: &str) -> Result<(), Full> …",
    "fn total(&self) -> u32;",
    "impl Basket for Cart\n  fn total(&self) -> u32 …",
  ],
  "cart.js": ["export declare class Cart", "add(item, count = 1);", "export const load"],
};

test.each(Object.keys(SOURCES))(
  "%s: what others see of it is shown, without bodies",
  async (file) => {
    const { outlines, lines } = logged();

    const { text, form } = await outlines.of(file, SOURCES[file]!);

    expect(form).toBe("signatures");
    for (const part of SHOWN[file]!) expect(text).toContain(part);
    expect(text).not.toMatch(/xxxxx|[hH]idden|_sum/);
    expect(lines).toEqual([]);
  },
);

test("a broken file is shown whole and costs one line of the log", async () => {
  const { outlines, lines } = logged();
  const broken = `def add(:\n  "${BODY}"\n`;

  expect(await outlines.of("a.py", broken)).toEqual({ text: broken, form: "whole" });
  expect(lines).toEqual(["a.py is shown whole: nothing to take from it"]);
});

test("without its package a language is shown whole, and that is said once", async () => {
  const { outlines, lines } = logged(async () => undefined);

  for (const file of ["a.kt", "b.kt", "c.go"]) {
    expect((await outlines.of(file, SOURCES["cart.go"]!)).form).toBe("whole");
  }

  expect(lines).toEqual([
    expect.stringMatching(/^files of kotlin .*npm install @vscode\/tree-sitter-wasm @tree-sitter/),
    expect.stringMatching(/^files of go .*npm install @vscode\/tree-sitter-wasm$/),
  ]);
});

test("a file that takes too long to read is given up, and the next one is read", async () => {
  const times = [0, 1_000];
  const clock = { monotonic: () => times.shift() ?? 0 };
  const lines: string[] = [];
  const add = (_facts: unknown, line?: string): void => void lines.push(String(line));
  const outlines = new Outlines({ logger: { info: add, warn: add }, clock });
  const long = `package cart\n${"var A = []int{1, 2, 3}\n".repeat(5_000)}`;

  const first = await outlines.of("a.go", long);
  times.splice(0);
  const second = await outlines.of("cart.go", SOURCES["cart.go"]!);

  expect([first.form, second.form]).toEqual(["whole", "signatures"]);
  expect(lines).toEqual(["a.go is shown whole: not read within 250 ms"]);
});

test("a grammar that throws, or takes too long, or a file that is too large is no error", async () => {
  const slow = logged(async () => ({ parse: () => undefined }));
  const wild = logged(async () => ({
    parse: () => {
      throw new Error("memory access out of bounds");
    },
  }));
  const text = SOURCES["cart.go"]!;

  expect((await slow.outlines.of("a.go", text)).form).toBe("whole");
  expect((await wild.outlines.of("a.go", text)).form).toBe("whole");
  expect((await wild.outlines.of("b.go", text.repeat(600))).form).toBe("whole");
  expect(slow.lines).toEqual(["a.go is shown whole: not read within 250 ms"]);
  expect(wild.lines).toEqual(["a.go is shown whole"]);
});
