import { expect, test } from "vitest";
import { isWrittenAsModule } from "./import-module.ts";

test.each([
  "import a from 'a'",
  "import{a}from'a'",
  "import 'a'",
  "const b = 1; export default b",
  "export*from 'a'",
  "/* CommonJS? */\nexport const a = 1;",
])("%j is an ES module", (source) => {
  expect(isWrittenAsModule(source)).toBe(true);
});

test.each([
  "const a = require('a');\nmodule.exports = { a };",
  "exports.a = 1;",
  "import('a').then((a) => a.export);",
  "// import a from 'a'",
  "const a = 'export default 1';",
  "const a = { export: 1, import() {} };",
])("%j is none", (source) => {
  expect(isWrittenAsModule(source)).toBe(false);
});
