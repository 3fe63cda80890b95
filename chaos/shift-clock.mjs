// For chaos runs alone, loaded before the server (`node --import`): moves its wall clock when the
// harness says so. Only the clock of this process: PostgreSQL, the other servers and monotonic
// time (timers, leases) keep theirs.

const realNow = Date.now.bind(Date);
const RealDate = Date;
let shift = 0;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, self) =>
    Reflect.construct(target, args.length === 0 ? [realNow() + shift] : args, self),
  apply: () => new RealDate(realNow() + shift).toString(),
  get: (target, name) => (name === "now" ? () => realNow() + shift : Reflect.get(target, name)),
});

process.on("message", (message) => {
  if (typeof message?.shiftClock === "number") shift = message.shiftClock;
});
process.channel?.unref();
// The harness is gone: nothing that it started lives on.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
