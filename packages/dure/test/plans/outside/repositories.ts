import { execFile, execFileSync } from "node:child_process";
import { chmod, mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { oddities } from "./oddities.ts";

const PACKAGES = fileURLToPath(new URL("../../../../../node_modules", import.meta.url));

/** A repository of another person, and the task that they would give. */
export interface Outside {
  readonly name: string;
  /** Makes it. Gives where the person stands, and what they write behind `dure task`. */
  readonly build: (at: Workshop) => Promise<Asked>;
}

export interface Asked {
  readonly cwd: string;
  /** The checkout of the branch, where it is not around `cwd`. */
  readonly checkout?: string | undefined;
  readonly args: readonly string[];
  /** What the agent does: a line of a shell. */
  readonly worker: string;
  /** The branch that gets it; undefined: the one that is there. */
  readonly into?: string | undefined;
  /** A file of the branch, and what it has in the end. */
  readonly changed: readonly [file: string, text: string];
}

/** Where repositories are made. */
export interface Workshop {
  readonly folder: string;
  readonly git: (cwd: string, ...args: string[]) => Promise<string>;
  readonly write: (cwd: string, files: Readonly<Record<string, string>>) => Promise<void>;
}

export function workshopIn(folder: string): Workshop {
  const person = ["-c", "user.name=민준", "-c", "user.email=minjun@example.com"];
  const usual = ["-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always"];
  return {
    folder,
    git: async (cwd, ...args) => {
      const { stdout } = await promisify(execFile)("git", [...person, ...usual, ...args], {
        cwd,
        maxBuffer: 64 * 1024 * 1024,
      });
      return stdout.trim();
    },
    write: async (cwd, files) => {
      for (const [name, text] of Object.entries(files)) {
        await mkdir(path.dirname(path.join(cwd, name)), { recursive: true });
        await writeFile(path.join(cwd, name), text);
      }
    },
  };
}

/** Whether a program of this machine is there. */
function has(program: string, ...args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

async function repository(
  { folder, git, write }: Workshop,
  name: string,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const cwd = path.join(await realpath(folder), name);
  await mkdir(cwd, { recursive: true });
  await git(cwd, "init", "--quiet", "--initial-branch=main");
  await write(cwd, files);
  await git(cwd, "add", "--all");
  await git(cwd, "commit", "--quiet", "-m", "Begin");

  return cwd;
}

const typescript: Outside = {
  name: "TypeScript with vitest",
  build: async (at) => {
    const cwd = await repository(at, "typescript", {
      ".gitignore": "node_modules\n",
      "package.json": '{ "name": "shop", "type": "module", "scripts": { "test": "vitest run" } }\n',
      "tsconfig.json": '{ "compilerOptions": { "strict": true, "module": "nodenext" } }\n',
      "src/price.ts": "export const price = (cents: number): string => String(cents);\n",
      "src/price.test.ts":
        'import { expect, test } from "vitest";\nimport { price } from "./price.ts";\n' +
        'test("two digits", () => expect(price(1250)).toBe("12.50"));\n',
      ".dure/project.yaml": `setup: mkdir node_modules && ln -s ${PACKAGES}/* ${PACKAGES}/.bin node_modules/\n`,
    });
    await symlink(PACKAGES, path.join(cwd, "node_modules"));
    const text = "export const price = (cents: number): string => (cents / 100).toFixed(2);";

    return {
      cwd,
      args: ["Write prices with two digits.", "--own", "src/price.ts"],
      worker: `echo '${text}' > src/price.ts`,
      changed: ["src/price.ts", text],
    };
  },
};

const python: Outside = {
  name: "Python in a venv",
  build: async (at) => {
    const hasPytest = has("/usr/bin/python3", "-c", "import pytest");
    const cwd = await repository(at, "python", {
      ".gitignore": ".venv\n__pycache__\n",
      "cart/__init__.py": "",
      "cart/total.py": "def total(prices):\n    return 0\n",
      "tests/__init__.py": "",
      "tests/test_total.py":
        "import unittest\nfrom cart.total import total\n\n\n" +
        "class TotalTest(unittest.TestCase):\n    def test_adds(self):\n" +
        "        self.assertEqual(total([1, 2]), 3)\n",
      ".dure/project.yaml": "setup: /usr/bin/python3 -m venv --system-site-packages .venv\n",
    });
    const command = hasPytest ? "pytest -q" : "unittest -v";

    return {
      cwd,
      args: ["Add the prices.", "--own", "cart/**", "--accept", `.venv/bin/python -m ${command}`],
      worker: "printf 'def total(prices):\\n    return sum(prices)\\n' > cart/total.py",
      changed: ["cart/total.py", "def total(prices):\n    return sum(prices)"],
    };
  },
};

const go: Outside = {
  name: "Go",
  build: async (at) => {
    const cwd = await repository(at, "go", {
      "go.mod": "module example.org/cart\n\ngo 1.19\n",
      "cart.go": "package cart\n\nfunc Total(prices []int) int { return 0 }\n",
      "cart_test.go":
        'package cart\n\nimport "testing"\n\nfunc TestTotal(t *testing.T) {\n' +
        '\tif Total([]int{1, 2}) != 3 {\n\t\tt.Fatal("not 3")\n\t}\n}\n',
    });
    const text =
      "package cart\n\nfunc Total(prices []int) int {\n\tsum := 0\n" +
      "\tfor _, price := range prices {\n\t\tsum += price\n\t}\n\treturn sum\n}";

    return {
      cwd,
      args: ["Add the prices.", "--own", "cart.go", "--accept", "go test ./..."],
      worker: `cat > cart.go <<'END'\n${text}\nEND`,
      changed: ["cart.go", text],
    };
  },
};

const c: Outside = {
  name: "C with make",
  build: async (at) => {
    const cwd = await repository(at, "c", {
      ".gitignore": "build/\n",
      Makefile:
        "test: build/test\n\t./build/test\n\nbuild/test: src/add.c test/test.c\n" +
        "\tmkdir -p build && cc -o $@ $^\n",
      "src/add.c": "int add(int a, int b) { return a - b; }\n",
      "test/test.c":
        "#include <stdio.h>\nint add(int, int);\nint main(void) {\n" +
        '  if (add(1, 2) != 3) { puts("not 3"); return 1; }\n  puts("ok"); return 0;\n}\n',
    });
    const text = "int add(int a, int b) { return a + b; }";

    return {
      cwd,
      args: ["Add instead of subtracting.", "--own", "src/**"],
      worker: `echo '${text}' > src/add.c`,
      changed: ["src/add.c", text],
    };
  },
};

const workspaces: Outside = {
  name: "npm workspaces",
  build: async (at) => {
    const cwd = await repository(at, "workspaces", {
      ".gitignore": "node_modules\n",
      "package.json":
        '{ "name": "all", "private": true, "workspaces": ["packages/*"], ' +
        '"scripts": { "test": "npm test --workspaces" } }\n',
      "packages/money/package.json":
        '{ "name": "@shop/money", "version": "1.0.0", "type": "module", "exports": "./money.js", ' +
        '"scripts": { "test": "node --test" } }\n',
      "packages/money/money.js": "export const cents = (amount) => amount;\n",
      "packages/money/money.test.js":
        'import test from "node:test";\nimport assert from "node:assert";\n' +
        'import { cents } from "./money.js";\ntest("cents", () => assert.equal(cents(2), 200));\n',
      "packages/web/package.json":
        '{ "name": "@shop/web", "version": "1.0.0", "type": "module", ' +
        '"dependencies": { "@shop/money": "1.0.0" }, "scripts": { "test": "node --test" } }\n',
      "packages/web/web.test.js":
        'import test from "node:test";\nimport assert from "node:assert";\n' +
        'import { cents } from "@shop/money";\n' +
        'test("a price on the page", () => assert.equal(`${cents(3)}`, "300"));\n',
    });
    await promisify(execFile)("npm", ["install", "--offline", "--no-audit", "--no-fund"], { cwd });
    await at.git(cwd, "add", "--all");
    await at.git(cwd, "commit", "--quiet", "-m", "Lock");
    const text = "export const cents = (amount) => amount * 100;";

    return {
      cwd: path.join(cwd, "packages", "money"),
      args: ["Count in cents.", "--own", "packages/money/money.js"],
      worker: `echo '${text}' > packages/money/money.js`,
      changed: ["packages/money/money.js", text],
    };
  },
};

/** Makes a file that can be run. */
export async function program(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
  await chmod(file, 0o755);
}

export const OUTSIDE: readonly Outside[] = [
  typescript,
  python,
  ...(has("go", "version") ? [go] : []),
  c,
  workspaces,
  oddities,
];
