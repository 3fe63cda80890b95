/**
 * The process of an offline worker: `node -e` with this text. It stands here as text, so that it
 * can be run by a user who may not read dure's own folder. It gets `{"edits": […]}` or
 * `{"crash": true}` line by line on its standard input and answers each with one line,
 * `{"ok": true}` or `{"ok": false, "code", "message"}`.
 */
export const OFFLINE_PROGRAM = String.raw`
const fs = require("node:fs");
const path = require("node:path");

function change(edit) {
  if (edit.delete) return fs.rmSync(edit.path, { recursive: true });
  fs.mkdirSync(path.dirname(edit.path), { recursive: true });
  if (edit.link !== undefined) {
    fs.rmSync(edit.path, { force: true });
    return fs.symlinkSync(edit.link, edit.path);
  }
  if (edit.content !== undefined) return fs.writeFileSync(edit.path, edit.content);
  const before = fs.readFileSync(edit.path, "utf8");
  const parts = before.split(edit.replace.old);
  if (parts.length === 2) return fs.writeFileSync(edit.path, parts.join(edit.replace.new));
  if (parts.length === 1 && edit.replace.new !== "" && before.includes(edit.replace.new)) return;
  throw Object.assign(new Error("the text to replace stands in " + edit.path + " " + (parts.length - 1) + " times"), { code: "SCRIPT" });
}

function answer(line) {
  const step = JSON.parse(line);
  if (step.crash) process.kill(process.pid, "SIGKILL");
  try {
    for (const edit of step.edits) change(edit);
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code ?? "UNKNOWN", message: error.message };
  }
}

require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => process.stdout.write(JSON.stringify(answer(line)) + "\n"));
`;
