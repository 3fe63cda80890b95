/**
 * `npm run example:desk`: two servers. One answers questions and stands before the other one, which
 * books meeting rooms.
 */
import { createDesk } from "../desk/service.ts";
import { faqModel } from "../faq/offline.ts";
import { Calendar } from "../meeting-room/calendar.ts";
import { roomModel } from "../meeting-room/offline.ts";
import { createRoomService } from "../meeting-room/service.ts";
import { runExample } from "./example.ts";

const calendar = new Calendar();
const office = {
  services: { "meeting-room": createRoomService(calendar) },
  model: "offline:meeting-room",
  offlineModels: [roomModel],
};

await runExample("office", office, async ({ team }) => {
  const front = {
    services: { desk: createDesk(team.url) },
    model: "offline:faq",
    offlineModels: [faqModel],
  };
  await runExample("desk", front, async ({ say, check }) => {
    const hours = await say("영업시간이 언제예요?");
    check("a question is answered here", hours.message.includes("9"));
    const asked = await say("내일 오후 3시에 소회의실 5명 예약해줘");
    check("the other server asks for a yes", asked.nextAction === "CONFIRM");
    check("nothing is booked before it", calendar.bookings.length === 0);
    await say("네");
    check("booked once", calendar.bookings.length === 1);
    const english = { session: "example-en", locale: "en" };
    await say("Book the large room tomorrow at 4pm", english);
    await say("8 people", english);
    const no = await say("no", english);
    check("a no books nothing", no.nextAction === "DONE" && calendar.bookings.length === 1);
  });
});
